# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# plot.gp - time and ratio by size, from the CSV files of the benchmarks
#
# gnuplot -e "files='A.csv B.csv'; titles='\"left\" \"right\"'; heading='...'; xname='...';
#             yname='...'; out='NAME'" plot.gp
#
# writes NAME.svg and NAME.png: for each CSV file a column with the times above (log axes, bars are
# 95 % intervals) and the ratios to mpi-persistent below.

# With unit='' sizes are numbers and not bytes; with modes='...' there are more than these five.
if (!exists("unit")) unit = "B"
if (!exists("modes")) modes = "mpi-blocking mpi-persistent host stream stream-ready"
n = words(files)

set datafile separator ","
set datafile missing NaN
# Colours that stay apart for the colour-blind and in grey.
set style line 1 lc rgb "#888888" lw 1.5 pt 4 ps 0.9
set style line 2 lc rgb "#000000" lw 1.5 pt 6 ps 0.9
set style line 3 lc rgb "#009e73" lw 1.5 pt 5 ps 0.7
set style line 4 lc rgb "#0072b2" lw 2.0 pt 7 ps 0.8
set style line 5 lc rgb "#d55e00" lw 2.0 pt 9 ps 0.9
set style line 6 lc rgb "#e69f00" lw 1.5 pt 11 ps 0.9
set style line 7 lc rgb "#cc79a7" lw 2.0 pt 13 ps 0.9
set grid lc rgb "#dddddd" lw 1
set border 3
set tics nomirror
set logscale x 2
# Sizes, not powers: 512, 4 KiB, 2 MiB.
size_name(b) = b < 1024 ? sprintf("%.0f", b) : \
               b < 1048576 ? sprintf("%.0f Ki", b / 1024.0) . unit : \
               sprintf("%.0f Mi", b / 1048576.0) . unit

# One x range for all panels, and one y range for each row, so that the columns can be compared.
low = 1e30; high = 0; y_low = 1e30; y_high = 0; r_low = 1; r_high = 1
do for [i = 1:n] {
    stats word(files, i) skip 1 using 6:7 nooutput
    low = STATS_min_x < low ? STATS_min_x : low
    high = STATS_max_x > high ? STATS_max_x : high
    y_low = STATS_min_y < y_low ? STATS_min_y : y_low
    y_high = STATS_max_y > y_high ? STATS_max_y : y_high
    stats word(files, i) skip 1 using 10 nooutput
    r_low = STATS_min < r_low ? STATS_min : r_low
    r_high = STATS_max > r_high ? STATS_max : r_high
}
set xrange [low / 1.4 : high * 1.4]
# Every third power of two is enough for a wide range, every one is needed for a narrow one.
step = high / low > 4096 ? 3 : (high / low > 64 ? 2 : 1)
tics = ""
do for [k = 3:30:step] {
    tics = tics . (tics eq "" ? "" : ", ") . sprintf("\"%s\" %d", size_name(2.0 ** k), 2 ** k)
}
eval "set xtics nomirror font ',10' (" . tics . ")"

# Room for the names of the times on the left, and for the legend on the right.
width = (n == 1 ? 540 : 440) * n + 250
draw = "set multiplot layout 2, n columnsfirst title heading font ',13' margins " . \
       sprintf("%.4f, %.4f", 95.0 / width, 1 - 170.0 / width) . ", 0.09, 0.86 spacing " . \
       sprintf("%.4f, 0.07", 55.0 / width)

do for [terminal_name in "svg png"] {
    if (terminal_name eq "svg") {
        set terminal svg size width, 720 font "sans,12" background rgb "white"
    } else {
        set terminal pngcairo size width, 720 font "sans,11" background rgb "white"
    }
    set output out . "." . terminal_name
    eval draw
    do for [i = 1:n] {
        set title word(titles, i) font ",12"
        # One legend, beside the curves.
        if (i == n) {
            set key at screen 1 - 10.0 / width, screen 0.85 top right reverse Left samplen 2
        } else {
            unset key
        }
        set logscale y 10
        set yrange [y_low / 1.5 : y_high * 1.5]
        set format y "%g"
        unset xlabel
        set ylabel (i == 1 ? yname : "")
        plot for [m = 1:words(modes)] word(files, i) skip 1 \
            using 6:(strcol(2) eq word(modes, m) ? $7 : NaN):9 \
            with yerrorlines ls m title word(modes, m)
        # The ratio below has the same x axis and needs neither name nor legend again.
        unset title
        unset key
        unset logscale y
        set yrange [(r_low < 0.5 ? r_low * 0.95 : 0.5) : (r_high > 2 ? r_high * 1.05 : 2)]
        if (r_high > 5) {
            set logscale y 2
        }
        set format y "%.2g"
        set xlabel xname
        set ylabel (i == 1 ? "ratio to mpi-persistent" : "")
        plot for [m = 1:words(modes)] word(files, i) skip 1 \
            using 6:(strcol(2) eq word(modes, m) ? $10 : NaN) with linespoints ls m notitle
    }
    unset multiplot
    unset output
}
