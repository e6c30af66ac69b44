// Package runconf writes the configuration file that the flags of `limitgate run` stand for. It stands before package conf,
// which reads that file like any other; nothing can be said with a flag that can't be said in a file.
package runconf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate"
)

// Flags are what a person says without a file.
type Flags struct {
	Listen string   // ADDRESS:PORT
	To     string   // http://HOST[:PORT][/PATH]
	Rate   string   // such as 10r/s
	Burst  int      // requests above the rate that pass at once
	DryRun bool     // count and log, refuse nothing
	Allow  []string // addresses and networks that are never limited
	NoLog  bool     // no access log
}

// Defaults are the flags of a person who says nothing but where to.
func Defaults() Flags { return Flags{Listen: "127.0.0.1:8080", Rate: "10r/s", Burst: 20} }

// Validate says what is wrong, naming the flag.
func (f *Flags) Validate() error {
	if host, port, err := net.SplitHostPort(f.Listen); err != nil {
		return fmt.Errorf("--listen %q: write ADDRESS:PORT", f.Listen) //nolint:errorlint // what net says repeats the address
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil || port == "0" || !isHost(host) {
		return fmt.Errorf("--listen %q: write ADDRESS:PORT with a port from 1 to 65535", f.Listen)
	}
	if _, err := f.target(); err != nil {
		return fmt.Errorf("--to %q: %w", f.To, err)
	}
	if _, err := limitgate.ParseRate(f.Rate); err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	if f.Burst < 0 {
		return fmt.Errorf("--burst %d: must not be negative", f.Burst)
	}
	for _, a := range f.Allow {
		if _, err := network(a); err != nil {
			return fmt.Errorf("--allow %q: write an address or a network such as 10.0.0.0/8", a)
		}
	}
	return nil
}

// isHost reports whether a host is safe to write into a file: "" and everything that is an address or looks like a name.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return !strings.ContainsRune(host, '%')
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func (f *Flags) target() (*url.URL, error) {
	u, err := url.Parse(f.To)
	switch {
	case f.To == "":
		return nil, errors.New("name the backend, such as http://127.0.0.1:9000")
	case err != nil:
		return nil, err
	case u.Scheme != "http":
		return nil, errors.New("only http:// backends are possible")
	case u.Hostname() == "" || !isHost(u.Hostname()):
		return nil, errors.New("the host is missing or no name")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, errors.New("write http://HOST:PORT and perhaps a path")
	case strings.ContainsAny(u.EscapedPath(), "\"'\\;{}$ \t"):
		return nil, errors.New("the path holds characters that a configuration file can't hold here")
	}
	return u, nil
}

func network(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network", text)
	}
	return a.Prefix(a.BitLen())
}

// text is the file. What stands in angle brackets is filled in.
const text = `# What "limitgate run" does, as a file: limitgate -c FILE
worker_processes auto;
daemon off;
error_log stderr warn;

events {
    worker_connections 4096;
}

http {
    # Each client network (IPv4 address, IPv6 /64) has a budget of its own.
<key>    limit_req_zone <variable> zone=clients:10m rate=<rate>;
    limit_req_status 429;
    limit_req_log_level warn;
    limit_headers draft;
<dry>
    log_format limited '$remote_addr [$time_local] "$request" $status $body_bytes_sent '
                       '$request_time limit=$limit_req_status';
    access_log <log>;

    upstream backend {
        server <server>;
        keepalive 64;
    }

    server {
        listen <listen>;

        location / {
            limit_req zone=clients<burst>;
            proxy_pass http://backend<path>;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }
    }
}
`

// Text writes the configuration. The flags must be valid.
func (f *Flags) Text() string {
	u, err := f.target()
	if err != nil {
		panic("runconf: Text of flags that are not valid: " + err.Error())
	}
	server := u.Hostname()
	port := u.Port()
	if port == "" {
		port = "80"
	}
	path := u.EscapedPath()
	if path = strings.TrimSuffix(path, "/"); path != "" {
		path += "/"
	}
	key, variable := f.key()
	return strings.NewReplacer(
		"<key>", key, "<variable>", variable, "<rate>", f.Rate, "<dry>", choose(f.DryRun, "    limit_req_dry_run on;\n", ""),
		"<log>", choose(f.NoLog, "off", "/dev/stdout limited"), "<server>", net.JoinHostPort(server, port),
		"<listen>", f.Listen, "<path>", path,
		// burst=0 is what nginx has without the parameter, and refuses to read.
		"<burst>", choose(f.Burst > 0, " burst="+strconv.Itoa(f.Burst)+" nodelay", ""),
	).Replace(text)
}

// key returns what is counted: the client network itself, or nothing for those who are never limited.
func (f *Flags) key() (lines, variable string) {
	if len(f.Allow) == 0 {
		return "", "$client_network"
	}
	var b strings.Builder
	b.WriteString("    # These are never limited: an empty key is not counted.\n    geo $limited {\n        default 1;\n")
	seen := map[netip.Prefix]bool{}
	for _, a := range f.Allow {
		p, err := network(a)
		if err != nil || seen[p] {
			continue
		}
		seen[p] = true
		fmt.Fprintf(&b, "        %s 0;\n", p)
	}
	b.WriteString("    }\n    map $limited $limited_client {\n        1       $client_network;\n        default \"\";\n    }\n")
	return b.String(), "$limited_client"
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
