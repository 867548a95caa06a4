#!/bin/sh
# Waits for a volume that comes up late, then counts what is there.
i=0
while [ $i -lt 5 ]; do
    sleep 0.05
    i=$((i + 1))
done
ls / | wc -l
