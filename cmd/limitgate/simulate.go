package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/simulate"
	"github.com/spf13/cobra"
)

func newSimulate() *cobra.Command {
	var o simulate.Options
	events := ""
	cmd := &cobra.Command{
		Use:   "simulate -c FILE",
		Short: "tell what a configuration's limits decide about a list of requests, on a virtual clock",
		Long: `simulate reads requests with their times, one JSON object a line, and writes for each what the limits of a configuration
decide about it: nothing listens, nothing waits, and a day of traffic takes seconds. docs/simulate.md names the fields.`,
		Example: `  limitgate simulate -c nginx.conf --events events.jsonl
  echo '{"at_ms":0,"remote_addr":"192.0.2.1","method":"GET","uri":"/login","host":"example.org"}' | limitgate simulate -c nginx.conf
  limitgate simulate -c nginx.conf --events events.jsonl --arithmetic nginx      what nginx would do`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return simulated(o, events)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&o.File, "conf", "c", "", "configuration file")
	fl.StringVarP(&o.Prefix, "prefix", "p", "", "folder that relative paths belong to, that of the configuration file too")
	fl.StringVar(&events, "events", "-", "file of events; - reads standard input")
	fl.StringVar(&o.Arithmetic, "arithmetic", "", "exact or nginx (default what limit_arithmetic says)")
	return cmd
}

// simulated runs a simulation and tells what was wrong with its input.
func simulated(o simulate.Options, events string) error {
	if o.Prefix != "" && !filepath.IsAbs(o.File) {
		o.File = filepath.Join(o.Prefix, o.File)
	}
	s, err := simulate.Open(o)
	var faults *simulate.ConfigError
	switch {
	case errors.As(err, &faults):
		tellFaults(faults.List)
		return exitCode(exitBad)
	case err != nil:
		return bad(err)
	}
	var in io.Reader = os.Stdin
	if events != "-" {
		f, err := os.Open(events)
		if err != nil {
			return bad(err)
		}
		defer f.Close()
		in = f
	}
	if err := s.Run(in, os.Stdout); err != nil {
		return bad(err)
	}
	return nil
}

// bad tells of input that is wrong.
func bad(err error) error {
	fmt.Fprintf(os.Stderr, "limitgate: %s\n", err)
	return exitCode(exitBad)
}

// tellFaults tells what is wrong with a configuration.
func tellFaults(list []*conf.Error) {
	for _, f := range list {
		fmt.Fprintf(os.Stderr, "limitgate: %s\n", f)
		if f.Help != "" {
			fmt.Fprintf(os.Stderr, "  help: %s\n", f.Help)
		}
	}
}
