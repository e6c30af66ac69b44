package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/replay"
	"github.com/limitgate/limitgate/internal/replay/show"
	"github.com/limitgate/limitgate/internal/runconf"
	"github.com/limitgate/limitgate/internal/virtual"
	"github.com/spf13/cobra"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	config    virtual.Options
	against   string
	limit     runconf.Limit
	format    string
	logFormat string
	rejected  string
	host      string
	port      int
	json      bool
	html      string
	verdicts  string
	anonymize bool
}

func newReplay() *cobra.Command {
	f := &replayFlags{limit: runconf.LimitDefaults()}
	cmd := &cobra.Command{
		Use:   "replay [LOG…] -c FILE",
		Short: "tell what limits would have done to the traffic of an access log",
		Long: `replay puts the requests of access logs through the limits of a configuration, on a virtual clock, and reports who would
have been delayed and refused, where, and what would have come to the upstream. Logs are of nginx, in any log_format, Apache,
Caddy, Traefik, AWS load balancers, Envoy or JSON lines, plain or packed with gzip or zstd; without a LOG, or with -,
standard input is read. docs/replay.md tells how it reads them and what it can't know.`,
		Example: `  limitgate replay /var/log/nginx/access.log -c nginx.conf
  limitgate replay access.log* --rate 10r/s --burst 20 --match /login       one limit, without a configuration
  limitgate replay access.log -c nginx.conf --against new.conf              what new.conf would do otherwise
  zcat access.log.gz | limitgate replay -c nginx.conf --json                for programs`,
		RunE: func(cmd *cobra.Command, logs []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			return f.run(logs)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.config.File, "conf", "c", "", "configuration file")
	fl.StringVarP(&f.config.Prefix, "prefix", "p", "", "folder that relative paths belong to, that of the configuration file too")
	fl.StringVar(&f.against, "against", "", "another configuration file: tell what it would do otherwise")
	fl.StringVar(&f.config.Arithmetic, "arithmetic", "", "exact or nginx (default what limit_arithmetic says)")
	fl.StringVar(&f.limit.Rate, "rate", "", "without a configuration: requests a key may make: 10r/s, 30r/m, 100r/h")
	fl.IntVar(&f.limit.Burst, "burst", 0, "with --rate: requests above the rate that are let in")
	fl.BoolVar(&f.limit.NoDelay, "nodelay", false, "with --burst: they go on at once")
	fl.IntVar(&f.limit.Delay, "delay", 0, "with --burst: so many of them go on at once, the others wait their turn")
	fl.IntVar(&f.limit.Conn, "conn", 0, "without a configuration: requests of a key in work at once")
	fl.IntVar(&f.limit.Count, "count", 0, "without a configuration: requests of a key in each --window")
	fl.StringVar(&f.limit.Window, "window", f.limit.Window, "with --count: 10s, 1m, 1h, 1d")
	fl.StringVar(&f.limit.Key, "key", f.limit.Key, "without a configuration: what is counted")
	fl.StringVar(&f.limit.Match, "match", f.limit.Match, "without a configuration: the paths that are limited: a beginning, or ~ and a regular expression")
	fl.StringVar(&f.format, "format", "", "of the logs: a name or the text of a format (default it is recognised)")
	fl.StringVar(&f.logFormat, "log-format", "", "of the logs: a log_format of the configuration")
	fl.StringVar(&f.rejected, "rejected", "keep", "requests that were refused already when they were logged: keep or drop")
	fl.StringVar(&f.host, "host", "", "the host that requests asked for, where the log does not tell")
	fl.IntVar(&f.port, "port", 0, "the port that requests came to, where the log does not tell")
	fl.BoolVar(&f.json, "json", false, "write the report as JSON")
	fl.StringVar(&f.html, "html", "", "write the report as a page of HTML to this file too")
	fl.StringVar(&f.verdicts, "verdicts", "", "write what became of each request to this file, a line of JSON each")
	fl.BoolVar(&f.anonymize, "anonymize", false, "hash addresses and what else tells people, so that the report can be shared")
	return cmd
}

// validate says what can't go together.
func (f *replayFlags) validate(cmd *cobra.Command) error {
	for _, name := range [...]string{"rate", "burst", "nodelay", "delay", "conn", "count", "window", "key", "match"} {
		if f.config.File != "" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s makes a limit without a configuration: leave out -c, or write it into the file", name)
		}
	}
	switch {
	case f.config.File == "":
		if err := f.limit.Validate(); err != nil {
			return err
		}
		if f.logFormat != "" {
			return errors.New("--log-format names a log_format of the configuration: name that with -c, or write the format's text with --format")
		}
	case f.format != "" && f.logFormat != "":
		return errors.New("--format and --log-format both name the format of the logs: choose one")
	}
	if f.verdicts != "" && f.anonymize {
		return errors.New("--verdicts tells of single requests and --anonymize of no people: choose one")
	}
	if f.rejected != "keep" && f.rejected != "drop" {
		return fmt.Errorf("--rejected %q: it is keep or drop", f.rejected)
	}
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: it is from 1 to 65535", f.port)
	}
	if a := f.config.Arithmetic; a != "" && a != "exact" && a != "nginx" {
		return fmt.Errorf("--arithmetic %q: it is exact or nginx", a)
	}
	return nil
}

// options are what the flags say of the replay.
func (f *replayFlags) options() replay.Options {
	o := replay.Options{Config: f.config, DropRefused: f.rejected == "drop", Port: f.port, Host: f.host}
	if f.config.File == "" {
		o.Config.File, o.Config.Disk = replayFile, oneFile{replayFile, f.limit.Text()}
	}
	o.Config.File = below(f.config.Prefix, o.Config.File)
	if f.against != "" {
		other := f.config
		other.File, other.Disk = below(f.config.Prefix, f.against), nil
		o.Against = &other
	}
	return o
}

// replayFile is the name under which the configuration of the flags is shown.
const replayFile = "limitgate-replay.conf"

// below returns the name of a file that belongs to a folder.
func below(prefix, file string) string {
	if prefix == "" || filepath.IsAbs(file) || file == replayFile {
		return file
	}
	return filepath.Join(prefix, file)
}

// run replays and reports.
func (f *replayFlags) run(logs []string) error {
	o := f.options()
	if f.verdicts == "" {
		return f.replay(o, logs)
	}
	file, err := os.Create(f.verdicts)
	if err != nil {
		return bad(err)
	}
	o.Verdicts = file
	err = f.replay(o, logs)
	if failed := file.Close(); failed != nil && err == nil {
		return bad(failed)
	}
	return err
}

func (f *replayFlags) replay(o replay.Options, logs []string) error {
	r, err := replay.Open(o)
	var faults *virtual.ConfigError
	switch {
	case errors.As(err, &faults):
		tellFaults(faults.List)
		return exitCode(exitBad)
	case err != nil:
		return bad(err)
	}
	if len(logs) == 0 {
		logs = []string{"-"}
	}
	log, err := f.open(r, logs)
	if err != nil {
		return bad(err)
	}
	interrupted := false
	defer func() {
		if !interrupted { // else the replay may have left somebody in it who waits for a batch; the process ends in any case
			log.Close()
		}
	}()
	for _, s := range log.Sources() {
		if s.Doubt != "" {
			fmt.Fprintf(os.Stderr, "limitgate: %s: %s\n", s.Name, s.Doubt)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bar := newBar(os.Stderr, log.Progress)
	report, err := r.Run(ctx, log, bar.show)
	bar.clear()
	interrupted = ctx.Err() != nil
	stop()
	if report != nil {
		if err := f.write(os.Stdout, report); err != nil {
			return bad(err)
		}
	}
	if err != nil {
		return bad(err)
	}
	if len(report.Log.Sources) > 0 && !slices.ContainsFunc(report.Log.Sources, func(s replay.Source) bool { return s.Lines == 0 || s.Malformed < s.Lines }) {
		return bad(errors.New("no line of the logs could be read: --format names another format"))
	}
	for _, s := range report.Log.Sources {
		if s.Broken != "" {
			return exitCode(exitBad)
		}
	}
	return nil
}

// open opens the logs in the format that the flags name.
func (f *replayFlags) open(r *replay.Replay, logs []string) (*accesslog.Reader, error) {
	o := accesslog.Options{Stdin: os.Stdin}
	var err error
	switch {
	case f.format != "":
		o.Format, err = accesslog.ParseFormat(f.format, logformat.Default)
	case f.logFormat != "":
		o.Format, err = r.Format(f.logFormat)
	default:
		o.Likely = r.Formats(logs)
	}
	if err != nil {
		return nil, err
	}
	return accesslog.Open(logs, o)
}

// write writes the report as the flags say.
func (f *replayFlags) write(w io.Writer, r *replay.Report) error {
	if f.anonymize {
		if err := show.Anonymize(r); err != nil {
			return err
		}
	}
	if f.html != "" {
		var page strings.Builder
		if err := show.HTML(&page, r); err != nil {
			return err
		}
		if err := os.WriteFile(f.html, []byte(page.String()), 0o644); err != nil { //nolint:gosec // a report is for others too
			return err
		}
	}
	if f.json {
		return show.JSON(w, r)
	}
	return show.Text(w, r, colours(os.Stdout))
}
