//! FlowLog's programs become modules when this is built.

fn main() {
    for program in ["closure.dl", "reach.dl"] {
        println!("cargo:rerun-if-changed=programs/{program}");
        if let Err(error) = flowlog_build::compile(format!("programs/{program}")) {
            panic!("{program}: {error}");
        }
    }
}
