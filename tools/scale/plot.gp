# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# plot.gp - what scale.py measured itself against, and what it predicts, as pictures
#
# gnuplot -e "out='FOLDER'" plot.gp
#
# reads FOLDER/frontier-16384.csv and so on, and writes FOLDER/frontier.svg, tuolumne.svg (time of
# an iteration over the ranks, a panel for each board) and pingpong.svg (one way over the size).

if (!exists("out")) out = "."
set datafile separator ","

# One colour for a program, which stays apart for the colour-blind; shaded: 95 % of the predictions.
set style line 1 lc rgb "#000000" lw 1.5 pt 6 ps 0.6
set style line 2 lc rgb "#e69f00" lw 1.5 pt 4 ps 0.6
set style line 3 lc rgb "#cc79a7" lw 1.5 pt 8 ps 0.6
set style line 4 lc rgb "#0072b2" lw 2 pt 7 ps 0.5
set style line 5 lc rgb "#d55e00" lw 2 pt 9 ps 0.5
set style line 6 lc rgb "#009e73" lw 1.5 dt 2
set style line 7 lc rgb "#56b4e9" lw 1.5 dt 4

# The rows of a kind and form: ranks or bytes, low, time, high.
rows(file, kind, form) = "< awk -F, '$1 == \"".kind."\" && $2 == \"".form."\" { print $3 \",\" $4 \
    \",\" $5 \",\" $6 }' ".out."/".file.".csv | sort -t, -n"

set terminal svg size 900, 480 font "sans,12" background rgb "white"
set grid lc rgb "#dddddd" lw 1
set border 3
set tics nomirror
set logscale x 2
set logscale y 10
set key bottom left Left reverse samplen 2 font ",10"
set style fill transparent solid 0.2 noborder
set ylabel "microseconds an iteration"
set xlabel "ranks"
set format x "%.0f"

do for [machine in "frontier tuolumne"] {
    set output out."/".machine.".svg"
    large = machine eq "frontier" ? "61440" : "88320"
    set multiplot layout 1, 2
    do for [side in "16384 ".large] {
        file = machine."-".side
        set title machine.", ".side." x ".side
        set xrange [(machine eq "frontier" ? 6 : 3) : (machine eq "frontier" ? 10500 : 5200)]
        set yrange [(side eq "16384" ? 7 : 3) : (side eq "16384" ? 1200 : 30000)]
        plot rows(file, "predicted", "queue-standard") using 1:2:4 with filledcurves ls 4 notitle, \
            rows(file, "predicted", "merged-ready") using 1:2:4 with filledcurves ls 5 notitle, \
            rows(file, "model", "cray") using 1:3 with lines ls 1 notitle, \
            rows(file, "model", "standard") using 1:3 with lines ls 2 notitle, \
            rows(file, "model", "ready") using 1:3 with lines ls 3 notitle, \
            rows(file, "measured", "cray") using 1:3:2:4 with yerrorbars ls 1 \
                title "Cray MPICH, measured and model", \
            rows(file, "measured", "standard") using 1:3:2:4 with yerrorbars ls 2 \
                title "published, standard", \
            rows(file, "measured", "ready") using 1:3:2:4 with yerrorbars ls 3 \
                title "published, ready", \
            rows(file, "predicted", "queue-standard") using 1:3 with lines ls 4 \
                title "queue, predicted", \
            rows(file, "predicted", "merged-standard") using 1:3 with lines ls 6 \
                title "merged, standard, predicted", \
            rows(file, "predicted", "merged-ready") using 1:3 with lines ls 5 \
                title "merged, ready, predicted", \
            rows(file, "predicted", "fused-ready") using 1:3 with lines ls 7 \
                title "fused, ready (not built)"
    }
    unset multiplot
}

set output out."/pingpong.svg"
set multiplot layout 1, 2
set xlabel "bytes"
set ylabel "microseconds, one way"
set xrange [24 : 2**23]
set yrange [5 : 500]
set key top left
set xtics ("32" 32, "1 Ki" 1024, "32 Ki" 32768, "1 Mi" 1048576)
do for [machine in "frontier tuolumne"] {
    file = "pingpong-".machine
    set title machine
    plot rows(file, "predicted", "standard") using 1:2:4 with filledcurves ls 4 notitle, \
        rows(file, "measured", "cray") using 1:3:2:4 with yerrorbars ls 1 \
            title "Cray MPICH, measured", \
        rows(file, "measured", "standard") using 1:3:2:4 with yerrorbars ls 2 \
            title "published, standard", \
        rows(file, "measured", "ready") using 1:3:2:4 with yerrorbars ls 3 \
            title "published, ready", \
        rows(file, "predicted", "standard") using 1:3 with lines ls 4 title "queue, predicted"
}
unset multiplot
