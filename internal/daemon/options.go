package daemon

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// Options are what a process is started with: nginx's flags and the streams it writes to. The zero value, but for the
// streams, reads /etc/nginx/nginx.conf.
type Options struct {
	Prefix   string    // -p: what relative paths belong to; empty: the current folder
	File     string    // -c, relative to Prefix
	ErrorLog string    // -e, relative to Prefix: where errors go until the configuration says where
	Globals  string    // -g: directives outside of the file
	Disk     conf.Disk // where the configuration is read from; nil: the system's files
	Version  string    // of limitgate, for the Server header
	Revision string    // the commit it was built from; "" where that is not known
	Stdout   *os.File
	Stderr   *os.File
}

// systemConf is the file that is meant when neither a prefix nor a file is named.
const systemConf = "/etc/nginx/nginx.conf"

// prefix returns the prefix as nginx prints it: what was given, with one slash behind.
func (o *Options) prefix() string {
	if o.Prefix == "" {
		return ""
	}
	return strings.TrimSuffix(o.Prefix, "/") + "/"
}

// absolute returns the prefix as a whole path.
func (o *Options) absolute() string {
	path, err := filepath.Abs(o.prefix())
	if err != nil {
		return o.prefix() // the current folder is gone; then nothing relative is found in it either
	}
	return path
}

// full resolves a path of the command line or the configuration.
func (o *Options) full(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return o.prefix() + path
}

// file returns the path of the configuration.
func (o *Options) file() string {
	switch {
	case o.File != "":
		return o.full(o.File)
	case o.Prefix != "":
		return o.full("conf/nginx.conf")
	}
	return systemConf
}

// dir returns the folder of the configuration, as nginx prints it.
func (o *Options) dir() string {
	dir := filepath.Dir(o.file())
	if filepath.IsAbs(dir) {
		return dir
	}
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir // the current folder is gone; then nothing relative is found in it either
}

// errorLog returns where errors go at first, relative to the prefix, and whether somebody said so. A prefix stands for the
// layout of an installed nginx, with its logs folder; without one the terminal is the place that surely exists.
func (o *Options) errorLog() (path string, said bool) {
	switch {
	case o.ErrorLog == "stderr":
		return "stderr", true
	case o.ErrorLog != "":
		return o.ErrorLog, true
	case o.Prefix != "":
		return "logs/error.log", true
	}
	return "stderr", false
}

// pid returns the path of the pid file for what the configuration says, and "" if there is to be none.
func (o *Options) pid(configured string) string {
	switch {
	case configured != "":
		return o.full(configured)
	case o.Prefix != "":
		return o.full("logs/nginx.pid")
	}
	return ""
}
