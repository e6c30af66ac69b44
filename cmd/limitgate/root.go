package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/limitgate/limitgate/internal/daemon"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes: nginx's 1 for everything that is wrong with a configuration or with nginx's own flags, 2 for the usage of
// what nginx does not have.
const (
	exitBad   = 1
	exitUsage = 2
)

// exitCode is an error that was told already and leaves only this to say.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// result makes an error of an exit code.
func result(code int) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

// run executes a command line and returns the exit code.
func run(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(os.Stderr, "limitgate: %s\n", err)
	return exitUsage
}

// nginxFlags are the flags of nginx's binary.
type nginxFlags struct {
	options    daemon.Options
	signal     string
	test, dump bool
	quiet      bool
	version    bool
	build      bool
	help       bool
}

func newRoot() *cobra.Command {
	f := &nginxFlags{options: daemon.Options{Version: version, Revision: thisBuild().revision(), Stdout: os.Stdout, Stderr: os.Stderr}}
	cmd := &cobra.Command{
		Use:   "limitgate [-p PREFIX] -c FILE",
		Short: "limits traffic: a gateway that reads nginx configuration, and tools around it",
		Long: `limitgate runs an nginx configuration and limits as nginx does, and better. It takes nginx's flags:

  limitgate -c /etc/nginx/nginx.conf              run it, in the foreground unless it says "daemon on;"
  limitgate -t -c /etc/nginx/nginx.conf           only check it
  limitgate -s reload -c /etc/nginx/nginx.conf    tell the running process to read it again

Without -p, relative paths belong to the current folder, errors go to standard error until the configuration
names a log, and a pid file is written only where it names one. With -p, as with an installed nginx, the file
is conf/nginx.conf, the log logs/error.log and the pid file logs/nginx.pid below it.`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.options.File, "conf", "c", "", "configuration file, relative to the prefix (default /etc/nginx/nginx.conf)")
	fl.StringVarP(&f.options.Prefix, "prefix", "p", "", "folder that relative paths belong to")
	fl.StringVarP(&f.options.ErrorLog, "error-log", "e", "", "log to use until the configuration names one")
	fl.StringVarP(&f.options.Globals, "globals", "g", "", "directives to read before the file")
	fl.BoolVarP(&f.test, "test", "t", false, "check the configuration and exit")
	fl.BoolVarP(&f.dump, "dump", "T", false, "check the configuration, print all its files and exit")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "with -t: say nothing if it is good")
	fl.StringVarP(&f.signal, "signal", "s", "", "tell the running process: stop, quit, reopen or reload")
	fl.BoolVarP(&f.version, "nginx-version", "v", false, "print the version in nginx's form and exit")
	fl.BoolVarP(&f.build, "build", "V", false, "print the version and what is built in, in nginx's form, and exit")
	fl.BoolVarP(&f.help, "usage", "?", false, "print this help and exit")
	cmd.SetFlagErrorFunc(flagError)
	cmd.AddCommand(newRun(), newCheck(), newSimulate(), newReplay(), newExport(), newPeers(), newTop(), newDebug(), newKey(), newRollout(), newHistory(), newRollback(), newDiff(), newStore(), newRLS(), newVersion(), newMan())
	return cmd
}

// run does what nginx's flags say, in nginx's order of precedence.
func (f *nginxFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		fmt.Fprintf(os.Stderr, "nginx: invalid option: %q\n  help: there is no such command, see limitgate --help\n", args[0])
		return exitCode(exitBad)
	case f.help:
		return cmd.Help()
	case cmd.Flags().NFlag() == 0:
		// Running a configuration nobody named is for service managers, and they name it.
		fmt.Fprint(os.Stderr, cmd.UsageString())
		return exitCode(exitUsage)
	case f.build:
		printBuild(os.Stderr)
		return nil
	case f.version:
		printVersion(os.Stderr)
		return nil
	case f.test, f.dump:
		return result(daemon.Check(f.options, daemon.CheckMode{Quiet: f.quiet, Dump: f.dump}))
	case cmd.Flags().Changed("signal"):
		return result(daemon.Signal(f.options, f.signal))
	}
	return result(daemon.Run(f.options))
}

// flagError tells a wrong flag: in nginx's words where it is one of the root, which scripts know.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasParent() {
		return fmt.Errorf("%w\nSee %q", err, cmd.CommandPath()+" --help")
	}
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &missing):
		what := map[string]string{"prefix": "directory name", "conf": "file name", "error-log": "file name", "signal": "parameter", "globals": "parameter"}
		fmt.Fprintf(os.Stderr, "nginx: option \"-%s\" requires %s\n", missing.GetFlag().Shorthand, what[missing.GetFlag().Name])
	case errors.As(err, &unknown):
		fmt.Fprintf(os.Stderr, "nginx: invalid option: %q\n", unknown.GetSpecifiedName())
	default:
		fmt.Fprintf(os.Stderr, "nginx: %s\n", err)
	}
	return exitCode(exitBad)
}
