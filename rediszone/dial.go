package rediszone

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/rueidis"
)

// Options say where a store is and how to get in. No error tells a password.
type Options struct {
	// Name is what errors call the store; "redis" if it is empty.
	Name string

	// URL is one of
	//
	//	redis://[user[:password]@]host[:port][,host[:port]...][/database]
	//	unix:///path/to/socket[?db=database]
	//	redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/database]
	//
	// rediss:// and rediss+sentinel:// are the same through TLS. Ports are 6379 and, of sentinels, 26379 if there is none. A
	// cluster is found to be one by itself: any of its nodes will do, and several are for when one is away. User and password are
	// those of the servers, with %40 and the like for what would end them.
	URL string

	// Username and Password are used where the URL has none. A Username alone means a user of the server's access lists.
	Username, Password string

	// SentinelUsername and SentinelPassword are for the sentinels, which have accounts of their own.
	SentinelUsername, SentinelPassword string

	// CAFile holds the certificates, in PEM form, that a server's must be signed by; the system's if it is empty.
	CAFile string

	// Timeout is how long an attempt to connect may take; two seconds if it is 0.
	Timeout time.Duration
}

const (
	defaultTimeout = 2 * time.Second

	// silence is how long a connection may leave commands without an answer before it is given up for a new one.
	silence = 5 * time.Second

	// gather is how long after one write the next one waits for more to write, where several goroutines ask: a write takes a
	// system call, and the server another one to read it.
	gather = 20 * time.Microsecond

	// A connection's buffers: decisions are small.
	buffer = 64 << 10
)

// store makes a store that is not connected yet.
func (o Options) store() (*Store, error) {
	if o.Name == "" {
		o.Name = "redis"
	}
	c, err := o.client()
	if err != nil {
		return nil, fmt.Errorf("store %q: %w", o.Name, err)
	}
	return &Store{name: o.Name, options: c, owned: true, done: make(chan struct{}), stop: func() {}}, nil
}

// client gives the options of the client.
func (o Options) client() (c rueidis.ClientOption, err error) {
	c = rueidis.ClientOption{
		Username: o.Username, Password: o.Password,
		DisableRetry: true, DisableCache: true,
		PipelineMultiplex:  -1,   // one connection to a server: it reads one at a time anyway, and more at once
		AlwaysPipelining:   true, // a call that is given up leaves the connection to the others
		ReadBufferEachConn: buffer, WriteBufferEachConn: buffer,
		ConnWriteTimeout: silence, MaxFlushDelay: gather,
	}
	c.Dialer.Timeout = o.Timeout
	if o.Timeout <= 0 {
		c.Dialer.Timeout = defaultTimeout
	}
	u, err := parseURL(o.URL)
	if err != nil {
		return c, err
	}
	if u.user != "" || u.password != "" {
		c.Username, c.Password = u.user, u.password
	}
	c.InitAddress, c.SelectDB = u.hosts, u.db
	switch {
	case u.secure:
		if c.TLSConfig, err = trusting(o.CAFile, u.hosts[0]); err != nil {
			return c, err
		}
	case o.CAFile != "":
		return c, fmt.Errorf("a CA file is for rediss://, not %s://", u.scheme)
	}
	if u.socket {
		c.DialCtxFn = dialSocket
		c.ForceSingleClient = true // a cluster's nodes would name addresses
	}
	if u.master != "" {
		c.Sentinel = rueidis.SentinelOption{
			MasterSet: u.master, Username: o.SentinelUsername, Password: o.SentinelPassword,
			TLSConfig: c.TLSConfig, Dialer: c.Dialer, TopologyRefreshInterval: 5 * time.Second,
		}
	}
	return c, nil
}

// trusting is the TLS of a client that believes the certificates in a file.
func trusting(file, host string) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	t.ServerName, _, _ = net.SplitHostPort(host)
	if file == "" {
		return t, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the CA file: %w", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %q: has no certificate in PEM form", file)
	}
	return t, nil
}
