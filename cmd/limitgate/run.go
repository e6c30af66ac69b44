package main

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/limitgate/limitgate/internal/daemon"
	"github.com/limitgate/limitgate/internal/runconf"
	"github.com/spf13/cobra"
)

func newRun() *cobra.Command {
	f := runconf.Defaults()
	print := false
	cmd := &cobra.Command{
		Use:   "run --to URL",
		Short: "limit what reaches one backend, without a configuration file",
		Long: `run puts a limit in front of one backend: each client network (an IPv4 address, or the /64 of an IPv6 address)
may make so many requests a second and a burst above that; what is beyond gets 429 and a Retry-After.`,
		Example: `  limitgate run --to http://127.0.0.1:9000 --rate 10r/s --burst 20
  limitgate run --to http://127.0.0.1:9000 --rate 10r/s --dry-run        only count and log what it would refuse
  limitgate run --to http://127.0.0.1:9000 --print-config > nginx.conf   the same as a file, to go on from`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := f.Validate(); err != nil {
				return err
			}
			if print {
				_, err := fmt.Print(f.Text())
				return err
			}
			return result(daemon.Run(daemon.Options{
				File: runFile, Disk: oneFile{runFile, f.Text()}, Version: version, Stdout: os.Stdout, Stderr: os.Stderr,
			}))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.Listen, "listen", f.Listen, "ADDRESS:PORT to listen on")
	fl.StringVar(&f.To, "to", f.To, "URL of the backend")
	fl.StringVar(&f.Rate, "rate", f.Rate, "requests a client network may make: 10r/s, 30r/m, 100r/h")
	fl.IntVar(&f.Burst, "burst", f.Burst, "requests above the rate that pass at once")
	fl.BoolVar(&f.DryRun, "dry-run", f.DryRun, "count and log, refuse nothing")
	fl.StringArrayVar(&f.Allow, "allow", f.Allow, "address or network that is never limited (may be given several times)")
	fl.BoolVar(&f.NoLog, "no-log", f.NoLog, "write no access log to standard output")
	fl.BoolVar(&print, "print-config", print, "print the configuration file that does the same, and exit")
	return cmd
}

// runFile is the name under which errors show the configuration.
const runFile = "limitgate-run.conf"

// oneFile is a disk that holds one file and nothing else.
type oneFile struct{ name, text string }

func (f oneFile) ReadFile(name string) ([]byte, error) {
	if name != f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(f.text), nil
}

func (f oneFile) ReadDir(name string) ([]fs.DirEntry, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (f oneFile) Lstat(name string) (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}
