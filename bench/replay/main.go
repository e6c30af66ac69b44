// Command replay measures limitgate replay on a log of a million lines: how many lines a second and a core, how much of a
// processor a line takes, and how much memory. A loop that only splits lines into fields runs beside it, in turn, so that a drift
// of the machine meets both; the ratio of the two says more than either. goaccess, where it is installed, is there for information:
// it counts other things.
//
//	go run ./replay -limitgate ../bin/limitgate [-lines 1000000] [-rounds 5] [-seed 1]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

func main() {
	b := bench{}
	flag.StringVar(&b.limitgate, "limitgate", "../bin/limitgate", "the limitgate binary")
	flag.IntVar(&b.lines, "lines", 1_000_000, "lines of the log")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each; the least of each figure counts")
	flag.Uint64Var(&b.seed, "seed", 1, "of the log")
	only := flag.String("split", "", "split the lines of this log and do nothing else: what the bench starts itself for")
	flag.Parse()
	err := error(nil)
	if *only != "" {
		err = report(*only)
	} else {
		err = b.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report splits a log, for a process of its own.
func report(name string) error {
	lines, fields, err := split(name)
	if err == nil {
		fmt.Println(lines, "lines,", fields, "fields")
	}
	return err
}

type bench struct {
	limitgate     string
	lines, rounds int
	seed          uint64
}

// contestant is a program with its arguments, and the least of its figures.
type contestant struct {
	name     string
	args     []string
	cpu      time.Duration // of all threads
	wall     time.Duration
	resident int64 // bytes, the most of all runs
}

func (b *bench) run() error {
	dir, err := os.MkdirTemp("", "limitgate-bench-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "access.log")
	if err := write(log, b.lines, b.seed); err != nil {
		return err
	}
	info, err := os.Stat(log)
	if err != nil {
		return fmt.Errorf("looking at the log: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	fmt.Printf("%s, %d cores, %d lines of %.1f bytes, %.0f MB, the least of %d rounds\n\n", runtime.Version(), runtime.NumCPU(), b.lines,
		float64(info.Size())/float64(b.lines), float64(info.Size())/1e6, b.rounds)
	list := []*contestant{
		{name: "splitting lines into fields", args: []string{self, "-split", log}},
		{name: "limitgate replay --rate 30r/m --burst 5 --nodelay", args: []string{b.limitgate, "replay", log, "--rate", "30r/m", "--burst", "5", "--nodelay", "--json"}},
	}
	if goaccess, err := exec.LookPath("goaccess"); err == nil {
		list = append(list, &contestant{name: "goaccess, for information", args: []string{goaccess, log, "--log-format=COMBINED", "--no-global-config", "--no-progress",
			"-o", filepath.Join(dir, "report.json")}})
	}
	for range b.rounds {
		for _, c := range list {
			if err := c.measure(); err != nil {
				return err
			}
		}
	}
	b.print(list)
	return nil
}

// measure runs a contestant once.
func (c *contestant) measure() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Stdout = io.Discard
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", c.name, err)
	}
	wall := time.Since(begun)
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("running %s: this system does not tell what it used", c.name)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if c.cpu == 0 {
		c.cpu, c.wall = cpu, wall
	}
	c.cpu, c.wall, c.resident = min(c.cpu, cpu), min(c.wall, wall), max(c.resident, used.Maxrss<<10)
	return nil
}

func (b *bench) print(list []*contestant) {
	width := len(slices.MaxFunc(list, func(x, y *contestant) int { return len(x.name) - len(y.name) }).name)
	fmt.Printf("| %-*s | seconds | lines a second | lines a second and core | CPU a line | to splitting | memory |\n|---|---|---|---|---|---|---|\n", width, "")
	for _, c := range list {
		fmt.Printf("| %-*s | %.2f | %.0f | %.0f | %.0f ns | %.2f | %.0f MB |\n", width, c.name, c.wall.Seconds(), float64(b.lines)/c.wall.Seconds(),
			float64(b.lines)/c.cpu.Seconds(), float64(c.cpu.Nanoseconds())/float64(b.lines), c.cpu.Seconds()/list[0].cpu.Seconds(), float64(c.resident)/1e6)
	}
}
