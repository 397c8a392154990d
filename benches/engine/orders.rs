//! Orders of customers of regions: a load, changes, and memory.
//!
//! The numbers are those of the reference program: ten orders a customer, a hundred regions.

use std::collections::BTreeMap;
use std::time::Instant;

use weir::dataflow::command::ReaderId;
use weir::plan::physical::Dataflow;
use weir::repr::{Diff, Row, ScalarType};

use crate::allocator::{client_cpu_ns, engine_cpu_ns, live};
use crate::driver::{Driver, Updates};
use crate::plans::{Object, join_and_sum, subscription};
use crate::report::Figures;

/// Regions.
const REGIONS: u64 = 100;
/// Rows in one command of a load.
const CHUNK: u64 = 1 << 16;
/// After how many commits the coordinator gives up history.
const COMPACT_EVERY: u64 = 64;

/// Spreads numbers, the same way every time.
pub fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

/// Count and sum by region.
type Totals = BTreeMap<i64, (i64, i64)>;

/// A shop, its view, and who listens to it.
struct Shop {
    driver: Driver,
    orders: Object,
    customers: Object,
    view: Object,
    /// The view and the subscription.
    plans: [Dataflow; 2],
    reader: ReaderId,
    customer_count: u64,
    next_order: u64,
    /// What the view should hold, by region.
    totals: Vec<(i64, i64)>,
    /// What the subscription said.
    heard: BTreeMap<Row, Diff>,
    scratch: Vec<u8>,
}

impl Shop {
    fn open(ty: ScalarType, customer_count: u64) -> Shop {
        let mut driver = Driver::start();
        let orders = Object::table(20_000, ty, 3);
        let customers = Object::table(20_001, ty, 2);
        driver.create_table(&orders);
        driver.create_table(&customers);
        driver.write(&orders, Updates::new());
        driver.write(&customers, Updates::new());
        let (view, plan) = join_and_sum(20_002, &orders, &customers);
        driver.create_view(plan.clone());
        let follow = subscription(0, &view);
        let reader = driver.subscribe(follow.clone());
        driver.changes(reader, |_, _| panic!("there is nothing yet"));
        Shop {
            driver,
            orders,
            customers,
            view,
            plans: [plan, follow],
            reader,
            customer_count,
            next_order: 0,
            totals: vec![(0, 0); REGIONS as usize],
            heard: BTreeMap::new(),
            scratch: Vec::new(),
        }
    }

    /// One more order.
    fn order(&mut self, customer: u64, updates: &mut Updates) {
        let (id, amount) = (self.next_order, (self.next_order % 1000) as i64);
        self.next_order += 1;
        let values = [id as i64, customer as i64, amount];
        let (key, value) = self.orders.row(&values, &mut self.scratch);
        updates.push((key, value, 1));
        let total = &mut self.totals[(customer % REGIONS) as usize];
        *total = (total.0 + 1, total.1 + amount);
    }

    /// Both tables in one time, as the reference has it.
    fn load(&mut self, order_count: u64) {
        self.driver.now += 1;
        let mut updates = Updates::new();
        for customer in 0..self.customer_count {
            let values = [customer as i64, (customer % REGIONS) as i64];
            let (key, value) = self.customers.row(&values, &mut self.scratch);
            updates.push((key, value, 1));
        }
        self.driver.write(&self.customers, updates);
        for start in (0..order_count).step_by(CHUNK as usize) {
            let mut updates = Updates::with_capacity(CHUNK as usize);
            for order in start..order_count.min(start + CHUNK) {
                self.order(mix(order) % self.customer_count, &mut updates);
            }
            self.driver.load(&self.orders, updates);
        }
        self.driver.write(&self.orders, Updates::new());
        self.driver.let_go_on(&self.plans);
        self.hear();
    }

    /// Waits for what the newest time has changed; says when the last of it came.
    fn hear(&mut self) -> Instant {
        let heard = &mut self.heard;
        self.driver.changes(self.reader, |row, diff| *heard.entry(row).or_default() += diff)
    }

    /// Commits so many orders; returns how many nanoseconds until all of the change came.
    fn commit(&mut self, size: u64) -> f64 {
        self.driver.now += 1;
        let mut updates = Updates::new();
        for _ in 0..size {
            let customer = mix(self.next_order * 31 + size) % self.customer_count;
            self.order(customer, &mut updates);
        }
        let start = Instant::now();
        self.driver.write(&self.orders, updates);
        self.driver.let_go_on(&self.plans);
        let end = self.hear();
        if self.driver.now.is_multiple_of(COMPACT_EVERY) {
            for relation in [&self.orders, &self.customers, &self.view] {
                self.driver.compact(relation.id);
            }
        }
        (end - start).as_nanos() as f64
    }

    /// Compares view and subscription with what they should be.
    fn check(&mut self) {
        let as_totals = |content: &BTreeMap<Row, Diff>| {
            let rows = content.iter().filter(|(_, count)| **count != 0);
            let rows = rows.map(|(row, count)| {
                assert_eq!(*count, 1);
                let numbers = self.view.numbers(row);
                (numbers[0], (numbers[1], numbers[2]))
            });
            rows.collect::<Totals>()
        };
        let expected = (0..).zip(self.totals.iter().copied());
        let expected: Totals = expected.filter(|(_, total)| *total != (0, 0)).collect();
        assert_eq!(as_totals(&self.heard), expected, "what was heard");
        let content = self.driver.content(&self.view);
        assert_eq!(as_totals(&content), expected, "what the view holds");
    }
}

/// The figures of one size of transactions.
fn commits(shop: &mut Shop, size: u64, count: u64, figures: &mut Figures) {
    let cpu = engine_cpu_ns();
    let mut latencies: Vec<f64> = (0..count).map(|_| shop.commit(size)).collect();
    let cpu = engine_cpu_ns() - cpu;
    latencies.sort_by(f64::total_cmp);
    let quantile = |q: f64| latencies[((count as f64 * q) as usize).min(latencies.len() - 1)];
    figures.push((format!("commit_{size}_p50_us"), quantile(0.5) / 1e3));
    figures.push((format!("commit_{size}_p99_us"), quantile(0.99) / 1e3));
    figures.push((format!("commit_{size}_cpu_ns_per_row"), cpu / (size * count) as f64));
}

fn load_and_commits(ty: ScalarType, rows: u64) -> Figures {
    let mut shop = Shop::open(ty, rows / 10);
    let (base, start) = (live(), Instant::now());
    let (cpu, client_cpu) = (engine_cpu_ns(), client_cpu_ns());
    shop.load(rows);
    let (cpu, client_cpu) = (engine_cpu_ns() - cpu, client_cpu_ns() - client_cpu);
    let elapsed = start.elapsed();
    for _ in 0..10 {
        shop.commit(1);
    }
    let count = rows as f64;
    let mut figures = vec![
        ("load_cpu_ns_per_row".to_owned(), cpu / count),
        // Making the commands, and waiting.
        ("load_client_cpu_ns_per_row".to_owned(), client_cpu / count),
        ("load_wall_ns_per_row".to_owned(), elapsed.as_nanos() as f64 / count),
        ("load_live_bytes_per_row".to_owned(), (live() - base) as f64 / count),
    ];
    for size in [1, 10, 100, 1000] {
        // As many as the reference makes, or as many rows as were loaded.
        let count = (200_000 / size).clamp(20, 5000).min(rows / size);
        commits(&mut shop, size, count, &mut figures);
    }
    shop.check();
    figures
}

/// Load, and changes of 1 to 1,000 rows, of a view over tables of `int`.
pub fn ints(rows: u64) -> Figures {
    load_and_commits(ScalarType::Int4, rows)
}

/// The same with `bigint`, as wide as the reference's numbers.
pub fn bigints(rows: u64) -> Figures {
    load_and_commits(ScalarType::Int8, rows)
}

/// Live bytes per row of a table of three integers, the first of which is its key.
pub fn table_memory(rows: u64) -> Figures {
    let mut figures = Figures::new();
    for (ty, name) in [(ScalarType::Int4, "int"), (ScalarType::Int8, "bigint")] {
        let mut driver = Driver::start();
        let table = Object::table(20_000, ty, 3);
        driver.create_table(&table);
        let base = live();
        let mut scratch = Vec::new();
        let mut row = |key: u64, version: u64| {
            table.row(&[key as i64, (key % 1000) as i64, version as i64], &mut scratch)
        };
        driver.now += 1;
        for start in (0..rows).step_by(CHUNK as usize) {
            let ids = start..rows.min(start + CHUNK);
            let updates = ids.map(|i| row(mix(i) >> 33, 0)).map(|(k, v)| (k, v, 1)).collect();
            driver.load(&table, updates);
        }
        driver.write(&table, Updates::new());
        settle(&mut driver, &table);
        let count = rows as f64;
        figures.push((format!("{name}_loaded_bytes_per_row"), (live() - base) as f64 / count));
        // A tenth of the rows get another value, a thousand at a time.
        for start in (0..rows / 10).step_by(1000) {
            driver.now += 1;
            let ids = start..(rows / 10).min(start + 1000);
            let change = |i| {
                let key = mix(i) >> 33;
                let ((k, old), (l, new)) = (row(key, 0), row(key, 1));
                [(k, old, -1), (l, new, 1)]
            };
            driver.write(&table, ids.flat_map(change).collect());
            driver.compact(table.id);
        }
        settle(&mut driver, &table);
        figures.push((format!("{name}_updated_bytes_per_row"), (live() - base) as f64 / count));
        let sum = |content: BTreeMap<Row, Diff>| -> (Diff, i64) {
            let versions = content.iter().map(|(row, n)| table.numbers(row)[2] * n);
            (content.values().sum(), versions.sum())
        };
        assert_eq!(sum(driver.content(&table)), (rows as i64, (rows / 10) as i64));
    }
    figures
}

/// Waits until a table is complete and has nothing left to merge.
fn settle(driver: &mut Driver, table: &Object) {
    driver.compact(table.id);
    let none = weir::plan::physical::Bounds::Keys(Vec::new().into());
    let reader = driver.ask(table, none);
    driver.answer(reader, |_, _| ());
    std::thread::sleep(std::time::Duration::from_millis(300));
}
