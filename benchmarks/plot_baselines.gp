# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# plot_baselines.gp - what baselines.sh measured, as pictures
#
# gnuplot -e "data='FOLDER/all.csv'; out='FOLDER'; heading='...'" plot_baselines.gp
#
# writes into the folder out, which has to be there: exchange.svg, hop.svg and bare.svg (time over
# size, with 95 % intervals), bandwidth.svg (of bare hops) and halo.svg (how many times as fast as
# mpi-persistent, over the size of the board). Runs that data does not have are left out.

if (!exists("out")) out = "."
if (!exists("heading")) heading = ""

# Modes of one library have one colour, which stay apart for the colour-blind; its forms differ in
# points and dashes. Ours are drawn last, over the others.
modes = "mpi-persistent mpi-aware mpi-aware-one peer-copy peer-copy-one nccl nccl-one nccl-graph \
nccl-one-graph nvshmem nvshmem-one nvshmem-graph nvshmem-device nvshmem-dev-one nvshmem-fused \
plain-copy one-kernel stream-graph stream-ready-graph stream stream-ready"
number(mode) = sum [i = 1:words(modes)] (word(modes, i) eq mode ? i : 0)
set style line 1 lc rgb "#000000" lw 1.5 pt 6 ps 0.7
set style line 2 lc rgb "#888888" lw 1.5 pt 4 ps 0.7
set style line 3 lc rgb "#888888" lw 1.5 pt 5 ps 0.7 dt 2
set style line 4 lc rgb "#009e73" lw 1.5 pt 4 ps 0.7
set style line 5 lc rgb "#009e73" lw 1.5 pt 5 ps 0.7 dt 2
set style line 6 lc rgb "#cc79a7" lw 1.5 pt 8 ps 0.7
set style line 7 lc rgb "#cc79a7" lw 1.5 pt 9 ps 0.7 dt 2
set style line 8 lc rgb "#cc79a7" lw 1.5 pt 10 ps 0.7 dt 3
set style line 9 lc rgb "#cc79a7" lw 1.5 pt 11 ps 0.7 dt 4
set style line 10 lc rgb "#e69f00" lw 1.5 pt 12 ps 0.7
set style line 11 lc rgb "#e69f00" lw 1.5 pt 13 ps 0.7 dt 2
set style line 12 lc rgb "#e69f00" lw 1.5 pt 2 ps 0.7 dt 3
set style line 13 lc rgb "#a65628" lw 1.5 pt 12 ps 0.7
set style line 14 lc rgb "#a65628" lw 1.5 pt 13 ps 0.7 dt 2
set style line 15 lc rgb "#a65628" lw 1.5 pt 2 ps 0.7 dt 3
set style line 16 lc rgb "#56b4e9" lw 1.5 pt 1 ps 0.7 dt 3
set style line 17 lc rgb "#56b4e9" lw 1.5 pt 3 ps 0.7 dt 3
set style line 18 lc rgb "#0072b2" lw 2.5 pt 6 ps 0.8 dt 2
set style line 19 lc rgb "#d55e00" lw 2.5 pt 8 ps 0.9 dt 2
set style line 20 lc rgb "#0072b2" lw 2.5 pt 7 ps 0.8
set style line 21 lc rgb "#d55e00" lw 2.5 pt 9 ps 0.9

# The rows of some runs in a mode: size, time, half width of the interval; of all.csv, where the name
# of the run stands before the columns of the benchmarks.
rows(runs, mode) = "< awk -F, '$1 ~ /^(".runs.")$/ && $3 == \"".mode."\" { print $7, $8, $10 }' ". \
    data." | sort -n"
# Those of the boards: cells a side, and the time of mpi-persistent to that of the mode.
boards(mode) = "< awk -F, '$1 ~ /^halo-/ { split($1, part, \"-\"); time[part[2], $3] = $8; \
    sides[part[2]] = 1 } END { for (side in sides) if ((side, \"".mode."\") in time && \
    (side, \"mpi-persistent\") in time) print side, time[side, \"mpi-persistent\"] / \
    time[side, \"".mode."\"] }' ".data." | sort -n"
# Which modes some runs have, in the order above.
has(runs, mode) = int(system("awk -F, '$1 ~ /^(".runs.")$/ && $3 == \"".mode."\"' ".data." | wc -l"))
present(runs) = system("awk -F, -v all='".modes."' '$1 ~ /^(".runs.")$/ { seen[$3] = 1 } \
    END { n = split(all, name, \" \"); for (i = 1; i <= n; i++) if (name[i] in seen) \
    printf \"%s \", name[i] }' ".data)

set terminal svg size 860, 560 font "sans,12" background rgb "white"
set grid lc rgb "#dddddd" lw 1
set border 3
set tics nomirror
set key outside right top reverse Left samplen 2.5 font ",11"
size_name(b) = b < 1024 ? sprintf("%.0f B", b) : \
               b < 1048576 ? sprintf("%.0f KiB", b / 1024.0) : sprintf("%.0f MiB", b / 1048576.0)
# The least or the largest value of a column in some runs, and some room beside it.
edge(runs, column, last) = real(system("awk -F, '$1 ~ /^(".runs.")$/ { print $".column." }' ". \
    data." | sort -g | ".(last ? "tail" : "head")." -n 1")) * (last ? 1.25 : 0.8)
# Every second power of two, or every third.
bytes_tics(step) = "set xtics (".(sum_tics = "", \
    sum [k = 0:9] (sum_tics = sum_tics.(k == 0 ? "" : ", "). \
    sprintf("\"%s\" %d", size_name(2.0 ** (4 + k * step)), 2 ** (4 + k * step)), 0), sum_tics).")"

set logscale x 2

# Time over size.
do for [picture in "exchange hop bare"] {
    runs = picture eq "exchange" ? "exchange-.*" : picture eq "hop" ? "hop-.*|large" : "bare-.*"
    what = picture eq "exchange" ? "Exchange of 8 messages each way, with pack and unpack" : \
        picture eq "hop" ? "One way, with pack and unpack" : "One way, without pack and unpack"
    unit = picture eq "exchange" ? "microseconds per exchange" : "microseconds one way"
    shown = present(runs)
    if (words(shown) > 0) {
        eval bytes_tics(picture eq "hop" ? 3 : 2)
        set logscale y 10
        set format y "%g"
        set xrange [edge(runs, "7", 0) : edge(runs, "7", 1)]
        set yrange [edge(runs, "8", 0) : edge(runs, "8", 1)]
        set ytics nomirror (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
        set title what.(heading eq "" ? "" : "\n".heading) font ",13"
        set xlabel picture eq "exchange" ? "size of a message" : "size of the message"
        set ylabel unit
        set output out."/".picture.".svg"
        plot for [mode in shown] rows(runs, mode) using 1:2:3 with yerrorlines \
            ls number(mode) title mode noenhanced
        unset output
    }
}

# Bandwidth of one message at a time.
runs = "bare-.*|wide"
shown = present(runs)
if (words(shown) > 0) {
    eval bytes_tics(3)
    set logscale y 10
    set xrange [edge(runs, "7", 0) : edge(runs, "7", 1)]
    set yrange [*:*]
    set ytics nomirror autofreq
    set title "Bandwidth of one message at a time".(heading eq "" ? "" : "\n".heading) font ",13"
    set xlabel "size of the message"
    set ylabel "GB/s"
    set output out."/bandwidth.svg"
    plot for [mode in shown] rows(runs, mode) using 1:($1 / $2 / 1e3) with linespoints \
        ls number(mode) title mode noenhanced
    unset output
}

# The boards.
shown = present("halo-.*")
if (words(shown) > 0 && has("halo-.*", "mpi-persistent") > 0) {
    set xtics ("256^2" 256, "1024^2" 1024, "4096^2" 4096, "16384^2" 16384)
    unset logscale y
    set xrange [220:19000]
    set yrange [0:*]
    set ytics nomirror autofreq
    set title "Game of Life, 8 neighbours".(heading eq "" ? "" : "\n".heading) font ",13"
    set xlabel "cells of each GPU"
    set ylabel "times as fast as mpi-persistent"
    set output out."/halo.svg"
    plot for [mode in shown] boards(mode) using 1:2 with linespoints ls number(mode) \
        title mode noenhanced
    unset output
}
