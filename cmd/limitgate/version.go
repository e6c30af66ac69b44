package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/spf13/cobra"
)

// version is limitgate's own.
const version = "0.1.0"

// nginxVersion is the nginx whose configuration limitgate reads; scripts compare it.
const nginxVersion = "1.30.0"

// What whoever builds outside of a checkout says of the source: go build -ldflags "-X main.commit=… -X main.date=…".
var commit, date string

// build is what a binary was made of. What the go command did not note and nobody said is empty.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Modified bool   `json:"modified,omitempty"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Static   bool   `json:"static"` // without cgo
}

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print limitgate's version, and what it was built from",
		Example: "  limitgate version --json | jq -r .commit",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return writeIndented(cmd.OutOrStdout(), b)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "limitgate %s%s %s %s\n", b.Version, b.source(), b.Platform, b.Go)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write {version, commit, date, modified, platform, go, static}")
	return cmd
}

// thisBuild is that of the running binary.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, commit, date)
}

// buildOf puts together what the go command noted of the checkout, and what was said instead.
func buildOf(info *debug.BuildInfo, commit, date string) build {
	b := build{Version: version, Commit: commit, Date: date, Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "CGO_ENABLED":
			b.Static = s.Value == "0"
		case commit != "":
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.time" && date == "":
			b.Date = s.Value
		case s.Key == "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// source is the commit and its date in parentheses, "" where nothing is known.
func (b build) source() string {
	if b.Commit == "" {
		return ""
	}
	text := b.revision()
	if b.Date != "" {
		text += " " + b.Date
	}
	return " (" + text + ")"
}

// revision is the commit, shortly, "" where it is not known.
func (b build) revision() string {
	text := b.Commit[:min(12, len(b.Commit))]
	if b.Modified {
		text += " modified"
	}
	return text
}

// module is one of nginx's, by the name of its configure script, with a directive that there is where it is.
type module struct{ name, directive string }

// asked are modules that nginx's configure must be asked for.
func asked() []module {
	return []module{{"http_ssl_module", "ssl_certificate"}, {"http_v2_module", "http2"}, {"http_v3_module", "http3"},
		{"http_realip_module", "set_real_ip_from"}, {"http_auth_request_module", "auth_request"}, {"http_stub_status_module", "stub_status"},
		{"stream", "stream"}, {"stream_ssl_module", "ssl_handshake_timeout"}, {"stream_realip_module", "proxy_protocol_timeout"}}
}

// usual are modules that come by themselves.
func usual() []module {
	return []module{{"http_charset_module", "charset"}, {"http_gzip_module", "gzip"}, {"http_ssi_module", "ssi"}, {"http_userid_module", "userid"},
		{"http_access_module", "allow"}, {"http_auth_basic_module", "auth_basic"}, {"http_mirror_module", "mirror"}, {"http_autoindex_module", "autoindex"},
		{"http_geo_module", "geo"}, {"http_map_module", "map"}, {"http_split_clients_module", "split_clients"}, {"http_referer_module", "valid_referers"},
		{"http_rewrite_module", "rewrite"}, {"http_proxy_module", "proxy_pass"}, {"http_fastcgi_module", "fastcgi_pass"}, {"http_uwsgi_module", "uwsgi_pass"},
		{"http_scgi_module", "scgi_pass"}, {"http_grpc_module", "grpc_pass"}, {"http_memcached_module", "memcached_pass"},
		{"http_limit_conn_module", "limit_conn"}, {"http_limit_req_module", "limit_req"}, {"http_empty_gif_module", "empty_gif"},
		{"http_browser_module", "modern_browser"}, {"http_upstream_hash_module", "hash"}, {"http_upstream_ip_hash_module", "ip_hash"},
		{"http_upstream_least_conn_module", "least_conn"}, {"http_upstream_random_module", "random"}, {"http_upstream_keepalive_module", "keepalive"},
		{"http_upstream_zone_module", "zone"}, {"http-cache", "proxy_cache"}}
}

// configured returns the arguments with which nginx would be built to have what is here: the table of directives knows.
func configured() (args []string) {
	here := map[string]bool{}
	for _, s := range conf.Table() {
		here[s.Name] = here[s.Name] || s.Status == conf.Here
	}
	for _, m := range asked() {
		if here[m.directive] {
			args = append(args, "--with-"+m.name)
		}
	}
	args = append(args, "--with-debug")
	for _, m := range usual() {
		if !here[m.directive] {
			args = append(args, "--without-"+m.name)
		}
	}
	return args
}

// printVersion writes what nginx -v writes.
func printVersion(w io.Writer) {
	fmt.Fprintf(w, "nginx version: nginx/%s (limitgate %s)\n", nginxVersion, version)
}

// printBuild writes what nginx -V writes.
func printBuild(w io.Writer) {
	printVersion(w)
	fmt.Fprintf(w, "built with OpenSSL 3.0.0 compatible TLS (Go crypto/tls)\nTLS SNI support enabled\n")
	fmt.Fprintf(w, "configure arguments: %s\n", strings.Join(configured(), " "))
}
