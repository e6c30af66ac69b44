package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/daemon"
	"github.com/limitgate/limitgate/internal/history"
	"github.com/limitgate/limitgate/internal/printable"
	"github.com/spf13/cobra"
)

// historyFlags say where the history of a gateway is.
type historyFlags struct {
	folder  string
	options daemon.Options
	json    bool
}

func (f *historyFlags) add(cmd *cobra.Command, conf string) {
	f.options = daemon.Options{Version: version, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.Flags().StringVar(&f.folder, "folder", "", "the folder of the history, where the configuration is not to be asked")
	cmd.Flags().StringVarP(&f.options.File, "conf", "c", "", conf)
	cmd.Flags().StringVarP(&f.options.Prefix, "prefix", "p", "", "folder that relative paths belong to")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON")
}

// read reads it. What can't be read of it is told, and is no reason to stop.
func (f *historyFlags) read() (*history.List, error) {
	folder := f.folder
	if folder == "" {
		var err error
		if folder, err = daemon.HistoryFolder(f.options); err != nil {
			return nil, err
		}
	}
	if folder == "" {
		return nil, errors.New("the configuration keeps no history; write history FOLDER; or admin PATH; at its top level, and start the gateway")
	}
	l, err := history.Read(folder)
	if err != nil {
		return nil, err
	}
	for _, bad := range l.Bad {
		fmt.Fprintf(os.Stderr, "limitgate: %s\n", bad)
	}
	return l, nil
}

func newHistory() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "list the configurations that became active, or show one",
		Long: `history lists the configurations that became active, the newest last: their numbers, when, how, and what changed in limits. Reloads
that were refused are listed behind them. It reads the folder itself, so the gateway need not run, and the configuration on the
disk may have faults.`,
		Example: `  limitgate history -c /etc/nginx/nginx.conf
  limitgate history show 7 -c /etc/nginx/nginx.conf
  limitgate history --json --folder /run/limitgate.sock.history | jq '.active[-1]'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := f.read()
			if err == nil && f.json {
				err = writeHistoryJSON(cmd.OutOrStdout(), l)
			} else if err == nil {
				err = writeHistory(cmd.OutOrStdout(), l)
			}
			return failed(err)
		},
	}
	f.add(cmd, "configuration file, relative to the prefix (default /etc/nginx/nginx.conf)")
	cmd.AddCommand(newHistoryShow())
	return cmd
}

func newHistoryShow() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:     "show NUMBER",
		Short:   "print all files of a configuration that was active, as -T does",
		Example: "  limitgate history show 7 -c /etc/nginx/nginx.conf",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := numberArg(args[0])
			if err != nil {
				return err
			}
			l, err := f.read()
			if err != nil {
				return failed(err)
			}
			e, err := l.Find(n)
			if err == nil && f.json {
				err = writeIndented(cmd.OutOrStdout(), entryOf(e))
			} else if err == nil {
				err = writeFiles(cmd.OutOrStdout(), e)
			}
			return failed(err)
		},
	}
	f.add(cmd, "configuration file, relative to the prefix (default /etc/nginx/nginx.conf)")
	return cmd
}

func numberArg(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no number of the history: limitgate history lists them", text)
	}
	return n, nil
}

func writeFiles(w io.Writer, e *history.Entry) error {
	for _, f := range e.Files {
		if _, err := fmt.Fprintf(w, "# configuration file %s:\n%s\n", f.Name, daemon.WithoutKeys(f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// entryOutput is an entry as JSON, without the texts of its files.
type entryOutput struct {
	history.Entry
	Files []string `json:"files"` // their names
}

func entryOf(e *history.Entry) entryOutput {
	out := entryOutput{Entry: *e}
	for _, f := range e.Files {
		out.Files = append(out.Files, f.Name)
	}
	return out
}

func writeHistoryJSON(w io.Writer, l *history.List) error {
	out := struct {
		Active  []entryOutput      `json:"active"`
		Refused []*history.Refusal `json:"refused"`
		Skipped []string           `json:"skipped"`
		Differs bool               `json:"disk_differs"` // from what became active last
	}{[]entryOutput{}, l.Refused, []string{}, diskDiffers(l.Last())}
	for _, e := range l.Active {
		out.Active = append(out.Active, entryOf(e))
	}
	for _, bad := range l.Bad {
		out.Skipped = append(out.Skipped, bad.Error())
	}
	if out.Refused == nil {
		out.Refused = []*history.Refusal{}
	}
	return writeIndented(w, out)
}

func writeHistory(w io.Writer, l *history.List) error {
	var b strings.Builder
	for _, e := range l.Active {
		how := e.How
		if e.From > 0 {
			how += fmt.Sprintf(" to %d", e.From)
		}
		if e.Why != "" {
			how += ", because " + e.Why
		}
		changes := "no limit changed"
		switch {
		case len(e.Changes) > 0:
			changes = strings.Join(e.Changes, "; ")
		case e.How == history.Start && e == l.Active[0]:
			changes = "the first that is kept"
		}
		fmt.Fprintf(&b, "%d  %s  %s: %s\n", e.Number, stamp(e.Time), how, printable.Text(changes))
	}
	if len(l.Active) == 0 {
		b.WriteString("nothing became active yet\n")
	}
	for _, r := range l.Refused {
		fmt.Fprintf(&b, "refused  %s  %s: %s\n", stamp(r.Time), r.How, printable.Text(r.Why))
	}
	if e := l.Last(); diskDiffers(e) {
		fmt.Fprintf(&b, "warning: what became active last, number %d, is not what is in %s now: a reload or a restart reads that\n", e.Number, printable.Text(e.Path))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// stamp is a time of the log's form, in the zone of who reads it.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// diskDiffers reports whether the files on the disk are others than those of an entry.
func diskDiffers(e *history.Entry) bool {
	if e == nil {
		return false
	}
	cfg, _ := conf.Load(conf.Options{Path: e.Path, Globals: e.Globals})
	if len(cfg.Files) != len(e.Files) {
		return true
	}
	for i, f := range cfg.Files {
		if f.Name != e.Files[i].Name || !bytes.Equal(f.Bytes, e.Files[i].Text) {
			return true
		}
	}
	return false
}
