# what a call on the device runs
python3 -m pip install -q --no-index --no-deps --target /tmp/site .whl/*.whl 2>&1 | tail -1
cd .w/decode; export PYTHONPATH=/tmp/site:$PWD/src
