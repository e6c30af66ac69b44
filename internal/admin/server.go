package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/override"
)

const (
	maxBody  = 1 << 16
	maxTime  = 10 * time.Second // of a request
	probing  = time.Second
	fileMode = 0o600
)

// Server is the server on a socket. Open it, have it Serve, and Close it.
type Server struct {
	http   http.Server
	ln     net.Listener
	path   string
	socket os.FileInfo   // that was made at path
	done   chan struct{} // closed when nobody serves any more
}

// Open makes the socket, which at no time anybody but the user of the process may use. One that is left over from a process that is
// gone is replaced, one that somebody serves is not. Who asks waits until it is served.
func Open(path string) (*Server, error) {
	if err := free(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".a*") // nobody else gets in while the socket is made
	if err != nil {
		return nil, fmt.Errorf("opening the admin socket: %w", err)
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	ln, err := net.Listen("unix", made)
	if err != nil {
		return nil, fmt.Errorf("opening the admin socket: %w", err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &Server{ln: ln, path: path, done: make(chan struct{})}
	if err = os.Chmod(made, fileMode); err == nil {
		if s.socket, err = os.Lstat(made); err == nil {
			err = os.Rename(made, path)
		}
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("opening the admin socket: %w", err)
	}
	return s, nil
}

// free reports what is at a path, if it is not to be replaced.
func free(path string) error {
	c, err := net.DialTimeout("unix", path, probing)
	if err == nil {
		c.Close()
		return fmt.Errorf("opening the admin socket %s: another process serves it", path)
	}
	switch info, found := os.Lstat(path); {
	case errors.Is(found, fs.ErrNotExist):
		return nil
	case found != nil:
		return fmt.Errorf("opening the admin socket: %w", found)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("opening the admin socket %s: there is something that is no socket", path)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("opening the admin socket %s: another process may serve it: %w", path, err)
	}
	return nil
}

// Serve begins to answer with what g tells.
func (s *Server) Serve(g Gateway) {
	s.http.Handler, s.http.ReadTimeout, s.http.WriteTimeout = routes(g), maxTime, maxTime
	s.http.ErrorLog = log.New(io.Discard, "", 0) // who asks is told
	// Owned by s, ends with Close.
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.ln) // ends with Close
	}()
}

// Close closes the socket, which disappears unless another process has replaced it, and all connections, and waits.
func (s *Server) Close() error {
	err := s.http.Close()
	if s.http.Handler == nil { // nobody was answered
		return errors.Join(s.ln.Close(), s.remove())
	}
	<-s.done
	return errors.Join(err, s.remove())
}

// remove removes the socket, if it is this server's.
func (s *Server) remove() error {
	if is, err := os.Lstat(s.path); err != nil || !os.SameFile(is, s.socket) {
		return nil
	}
	return os.Remove(s.path)
}

func routes(g Gateway) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/peers", func(w http.ResponseWriter, _ *http.Request) { answer(w, g.Peers(), nil) })
	m.HandleFunc("GET /v1/top", func(w http.ResponseWriter, r *http.Request) {
		q, err := readQuestion(r.URL.Query())
		if err != nil {
			answer(w, nil, err)
			return
		}
		t, err := g.Top(q)
		answer(w, t, err)
	})
	m.HandleFunc("GET /v1/debug", func(w http.ResponseWriter, _ *http.Request) {
		d, err := g.Debug()
		answer(w, d, err)
	})
	m.HandleFunc("GET /v1/key", func(w http.ResponseWriter, r *http.Request) {
		k, err := g.Key(r.Context(), r.FormValue("zone"), r.FormValue("key"))
		answer(w, k, err)
	})
	m.HandleFunc("POST /v1/key/reset", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, g.Reset(r.Context(), r.URL.Query().Get("zone"), r.URL.Query().Get("key")))
	})
	m.HandleFunc("POST /v1/key/set", func(w http.ResponseWriter, r *http.Request) {
		n, err := readNumbers(r.Body)
		if err == nil {
			err = g.Set(r.Context(), r.URL.Query().Get("zone"), r.URL.Query().Get("key"), n)
		}
		answer(w, struct{}{}, err)
	})
	rollouts(m, g)
	rollbacks(m, g)
	return m
}

// rollouts are the routes of those.
func rollouts(m *http.ServeMux, g Gateway) {
	m.HandleFunc("GET /v1/rollouts", func(w http.ResponseWriter, _ *http.Request) { answer(w, g.Rollouts(), nil) })
	m.HandleFunc("POST /v1/rollout/{act}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, g.Rollout(r.URL.Query().Get("name"), r.PathValue("act")))
	})
}

// Keys of a zone that are told of, unless the question says how many; and at most.
const (
	usualKeys = 10
	mostKeys  = 1000
)

func readQuestion(v url.Values) (Question, error) {
	q := Question{Zone: v.Get("zone"), Keys: usualKeys}
	if text := v.Get("keys"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > mostKeys {
			return q, fmt.Errorf("keys=%s: it is a number from 0 to %d", text, mostKeys)
		}
		q.Keys = n
	}
	if text := v.Get("hash"); text != "" {
		var err error
		if q.Hash, err = strconv.ParseBool(text); err != nil {
			return q, fmt.Errorf("hash=%s: it is 1 or 0", text)
		}
	}
	return q, nil
}

// readNumbers reads a body; nil is one without numbers.
func readNumbers(body io.Reader) (*override.Numbers, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return nil, err
	}
	var none map[string]any
	if json.Unmarshal(text, &none) == nil && none != nil && len(none) == 0 {
		return nil, nil
	}
	return override.Parse(string(text))
}

// failure is an answer that something did not work.
type failure struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		v = failure{err.Error()}
	}
	_ = json.NewEncoder(w).Encode(v) // who left is told nothing
}

// Client asks a server.
type Client struct{ http http.Client }

// NewClient makes the client of the server on a socket.
func NewClient(path string) *Client {
	c := &Client{}
	c.http.Timeout = maxTime
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	return c
}

// help is what to look for when nobody could be asked.
func help(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "; nobody listens there: the gateway does not run, or runs with another admin socket"
	case errors.Is(err, fs.ErrPermission):
		return "; ask as the user who started the gateway, or as root"
	}
	return ""
}

// Ask sends a request and reads the answer into v. query is encoded.
func (c *Client) Ask(method, path, query string, body io.Reader, v any) error {
	req, err := http.NewRequest(method, "http://admin"+path+"?"+query, body)
	if err != nil {
		return err
	}
	r, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking the gateway: %w%s", errors.Unwrap(err), help(err))
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		var f failure
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil || f.Error == "" {
			return fmt.Errorf("asking the gateway: got status %d", r.StatusCode)
		}
		return errors.New(f.Error)
	}
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		return fmt.Errorf("reading the gateway's answer: %w", err)
	}
	return nil
}
