package daemon

import (
	"errors"
	"fmt"
	"io"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/logfile"
)

// Console is where a process speaks before its configuration says where: standard error, in nginx's form, and the log
// named by -e, dated.
type Console struct {
	stderr io.Writer
	log    *errorlog.Log // nil: standard error alone, in nginx's form
	writer io.Writer     // for a configuration that names no log
	both   bool          // the log is a file as well as what standard error shows
}

// ConfigError are the faults of a configuration.
type ConfigError struct{ List []*conf.Error }

// Error returns the first fault, which is the one nginx would name.
func (e *ConfigError) Error() string {
	if len(e.List) == 0 {
		return "no faults"
	}
	return e.List[0].Error()
}

// ErrReported is a failure that was already told on the console.
var ErrReported = errors.New("reported on the console")

// openConsole opens the first log. One that can't be opened is told on standard error and does without, as in nginx.
func openConsole(o *Options, files *logfile.Use) *Console {
	c := &Console{stderr: o.Stderr}
	path, said := o.errorLog()
	w, err := files.Append(path)
	if err != nil {
		fmt.Fprintf(c.stderr, "nginx: [alert] could not open error log file: %s\n", err)
		w, _ = files.Append("stderr")
		path = "stderr"
	}
	c.writer = w
	c.both = path != "stderr"
	if said {
		c.log = errorlog.New(errorlog.Sink{Writer: w, Level: errorlog.Notice})
	}
	return c
}

// Say writes an event to the log, and to standard error what is a warning or worse.
func (c *Console) Say(level errorlog.Level, msg string) {
	c.log.Write(level, 0, msg)
	if (c.both || c.log == nil) && level <= errorlog.Warn {
		fmt.Fprintf(c.stderr, "nginx: [%s] %s\n", level, msg)
	}
}

// help tells what would be right, where people look.
func (c *Console) help(text string) {
	if text != "" {
		fmt.Fprintf(c.stderr, "  help: %s\n", text)
	}
}

// Fail tells why the process can't start: each fault of a configuration in a line of its own, with help below it.
func (c *Console) Fail(err error) {
	var faults *ConfigError
	if !errors.As(err, &faults) {
		c.Say(errorlog.Emerg, err.Error())
		return
	}
	for _, f := range faults.List {
		c.Say(errorlog.Emerg, f.Error())
		c.help(f.Help)
	}
}

// noticeLevel is how loud a notice of a good configuration is.
func noticeLevel(n *conf.Error) errorlog.Level {
	if n.Minor {
		return errorlog.Notice
	}
	return errorlog.Warn
}

// notices tells what is to be known of a good configuration.
func (c *Console) notices(list []*conf.Error) {
	for _, n := range list {
		c.Say(noticeLevel(n), n.Error())
	}
}
