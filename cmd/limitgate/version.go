package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is limitgate's own.
const version = "0.1.0"

// nginxVersion is the nginx whose configuration limitgate reads; scripts compare it.
const nginxVersion = "1.30.0"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print limitgate's version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "limitgate %s%s %s/%s %s\n", version, revision(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// revision is the commit the binary was built from, as the go command noted it, "" where it did not.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " modified"
		}
	}
	if commit == "" {
		return ""
	}
	return " (" + commit[:min(12, len(commit))] + dirty + ")"
}

// with are nginx's modules that must be asked for and are here, without those that come by themselves there and are missing
// here, by the names of nginx's configure.
func with() []string { return []string{"http_ssl_module", "http_realip_module", "debug"} }

func without() []string {
	return []string{"http_charset_module", "http_gzip_module", "http_ssi_module", "http_userid_module", "http_auth_basic_module",
		"http_mirror_module", "http_autoindex_module", "http_split_clients_module", "http_referer_module",
		"http_fastcgi_module", "http_uwsgi_module", "http_scgi_module", "http_grpc_module", "http_memcached_module",
		"http_empty_gif_module", "http_browser_module",
		"http_upstream_random_module", "http_upstream_zone_module", "http-cache"}
}

// printVersion writes what nginx -v writes.
func printVersion(w io.Writer) {
	fmt.Fprintf(w, "nginx version: nginx/%s (limitgate %s)\n", nginxVersion, version)
}

// printBuild writes what nginx -V writes.
func printBuild(w io.Writer) {
	printVersion(w)
	fmt.Fprintf(w, "built with OpenSSL 3.0.0 compatible TLS (Go crypto/tls)\nTLS SNI support enabled\n")
	fmt.Fprintf(w, "configure arguments: --with-%s --without-%s\n", strings.Join(with(), " --with-"), strings.Join(without(), " --without-"))
}
