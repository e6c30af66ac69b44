package rediszone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// address is what a URL says.
type address struct {
	scheme         string
	secure, socket bool
	user, password string
	hosts          []string
	master         string
	db             int
}

const urlForms = "write one like redis://host:6379/0, rediss://host:6379, unix:///path/to/socket or redis+sentinel://host:26379/master"

// parseURL reads a URL. Its errors quote nothing that may be a password.
func parseURL(text string) (u address, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return u, errors.New("the URL has no scheme; " + urlForms)
	}
	u.scheme = scheme
	port, base := "6379", strings.TrimSuffix(scheme, "+sentinel")
	u.secure = base == "rediss"
	switch {
	case scheme == "unix":
		return u, u.readSocket(rest)
	case base != "redis" && base != "rediss":
		return u, errors.New("unknown scheme in the URL; " + urlForms)
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		if err := u.readUser(rest[:i]); err != nil {
			return u, err
		}
		rest = rest[i+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	if base != scheme {
		port = "26379"
		if u.master, path, _ = strings.Cut(path, "/"); u.master == "" {
			return u, errors.New("the URL names no master for the sentinels to tell about; " + urlForms)
		}
	}
	for h := range strings.SplitSeq(hosts, ",") {
		if h, err = withPort(h, port); err != nil {
			return u, err
		}
		u.hosts = append(u.hosts, h)
	}
	return u, u.readDatabase(path)
}

// readUser reads what stands before the @: a user, a user and a password, or :password.
func (u *address) readUser(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var err, err2 error
	u.user, err = url.PathUnescape(user)
	u.password, err2 = url.PathUnescape(password)
	if err != nil || err2 != nil {
		return errors.New("user or password in the URL has a % that is not followed by two digits; write %25 for one")
	}
	return nil
}

// readSocket reads what follows unix://.
func (u *address) readSocket(text string) error {
	path, query, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(path, "/") {
		return errors.New("the URL names no absolute path of a socket; " + urlForms)
	}
	u.socket, u.hosts = true, []string{path}
	db, ok := strings.CutPrefix(query, "db=")
	if query != "" && !ok {
		return errors.New("behind the ? of a socket only db=database is known")
	}
	return u.readDatabase(db)
}

// readDatabase reads the number of a database, if there is one.
func (u *address) readDatabase(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("the URL ends with what is no number of a database; " + urlForms)
	}
	u.db = n
	return nil
}

// withPort gives host:port, with a port where there is none.
func withPort(h, port string) (string, error) {
	if _, p, err := net.SplitHostPort(h); err == nil {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return "", errors.New("a port in the URL is not between 1 and 65535; write what is special in a password as %40 for @, %2F for /")
		}
		return h, nil
	}
	host := strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	if host == "" || strings.Contains(h, "[") != strings.Contains(h, "]") || strings.ContainsRune(host, ':') && host == h {
		return "", errors.New("the URL has no host, or one that is none; " + urlForms)
	}
	return net.JoinHostPort(host, port), nil
}

// dialSocket connects to a unix socket.
func dialSocket(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connecting to a socket: %w", err)
	}
	return c, nil
}
