package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/history"
	"github.com/limitgate/limitgate/internal/lint"
	"github.com/limitgate/limitgate/internal/printable"
	"github.com/spf13/cobra"
)

func newDiff() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "diff [A] B",
		Short: "tell what differs in the limits of two configurations",
		Long: `diff speaks of limits, not of lines: which are new or gone and where, their rates, bursts and keys, what they refuse with, dry run,
trusted proxies, exemptions, stores, and the maps that choose keys and numbers. What else differs it leaves out.
A and B are files, or numbers of the history of the gateway that -c names; a file whose name is a number is written ./7. With one
of them the other is what became active last. Files are read as check reads them: directives that limitgate does not have are
passed over.
It exits with 0 if no limit changed, and with 1 if one did or something could not be read.`,
		Example: `  limitgate diff /etc/nginx/nginx.conf nginx.conf.new
  limitgate diff 7 9 -c /etc/nginx/nginx.conf
  limitgate diff /etc/nginx/nginx.conf -c /etc/nginx/nginx.conf     what a reload would change
  limitgate diff --json 7 ./nginx.conf -c /etc/nginx/nginx.conf | jq '.[].text'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.diff(cmd.OutOrStdout(), args) },
	}
	f.add(cmd, "configuration file of the gateway whose history is asked (default /etc/nginx/nginx.conf)")
	return cmd
}

func (f *historyFlags) diff(w io.Writer, args []string) error {
	if len(args) == 1 {
		args = []string{"", args[0]}
	}
	var list *history.List // read once, where it is needed
	var configs [2]*conf.Config
	for i, name := range args {
		var err error
		if n, number := strconv.Atoi(name); name == "" || number == nil && n > 0 {
			configs[i], err = f.past(&list, n)
		} else {
			configs[i], err = configOf(conf.Options{Path: name, Lua: true})
		}
		if err != nil {
			return failed(err)
		}
	}
	changes := lint.Diff(configs[0], configs[1])
	var err error
	if f.json {
		if changes == nil {
			changes = []lint.Change{}
		}
		err = writeIndented(w, changes)
	} else {
		err = writeChanges(w, changes)
	}
	if err == nil && len(changes) > 0 {
		err = exitCode(exitBad)
	}
	return err
}

// past loads a configuration of the history, 0 the last.
func (f *historyFlags) past(list **history.List, n int) (*conf.Config, error) {
	if *list == nil {
		l, err := f.read()
		if err != nil {
			return nil, err
		}
		*list = l
	}
	e := (*list).Last()
	switch {
	case n > 0:
		var err error
		if e, err = (*list).Find(n); err != nil {
			return nil, err
		}
	case e == nil:
		return nil, errors.New("the history is empty: nothing became active yet")
	}
	return configOf(conf.Options{Path: e.Path, Globals: e.Globals, Disk: e.Disk(), Lua: true})
}

// configOf loads a configuration. What is not known of it is passed over, what is wrong with it is not.
func configOf(o conf.Options) (*conf.Config, error) {
	cfg, errs := conf.Load(o)
	var faults []string
	for _, e := range errs.List() {
		if !slices.ContainsFunc(cfg.Lacks, func(l conf.Lack) bool { return l.Pos == e.Pos }) {
			faults = append(faults, e.Error())
		}
	}
	if len(faults) > 1 {
		fmt.Fprintf(os.Stderr, "limitgate: %s\n", printable.Text(strings.Join(faults[:len(faults)-1], "; ")))
	}
	if len(faults) > 0 {
		return nil, errors.New(printable.Text(faults[len(faults)-1]))
	}
	return cfg, nil
}

func writeChanges(w io.Writer, changes []lint.Change) error {
	if len(changes) == 0 {
		_, err := io.WriteString(w, "no limit changed\n")
		return err
	}
	for _, c := range changes {
		if _, err := fmt.Fprintln(w, printable.Text(c.Text)); err != nil {
			return err
		}
	}
	return nil
}
