// Package webhook stands at the end of events: it posts them to addresses that operators name, each within a bounded time and a bounded
// number of tries. It knows nothing of what it sends, makes nobody wait, and repeats no address in what it says: such addresses hold
// secrets.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Config says how patient a sender is; the zero value is patient for half a minute.
type Config struct {
	Timeout time.Duration   // of a try; 0: 5s
	Waits   []time.Duration // before each further try; nil: 1s, 2s, 4s
	Failed  func(error)     // is told of what could not be sent; may be nil
}

// queued bounds how many messages wait.
const queued = 64

// Sender posts messages one after the other. Close ends it.
type Sender struct {
	config Config
	client http.Client
	ctx    context.Context // of the sender's life
	cancel context.CancelFunc
	queue  chan message
	begun  sync.Once
	work   sync.WaitGroup
}

type message struct {
	address string
	body    []byte
}

// New makes a sender, which begins its work with the first message.
func New(c Config) *Sender {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Waits == nil {
		c.Waits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	s := &Sender{config: c, queue: make(chan message, queued)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	// An answer that sends elsewhere is no answer: what is posted goes where an operator said.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	return s
}

var errFull = errors.New("too many messages wait already")

// Post sends JSON to an address, in its own time. It keeps body.
func (s *Sender) Post(address string, body []byte) {
	if s.ctx.Err() != nil {
		return
	}
	s.begun.Do(func() {
		s.work.Add(1)
		// Owned by s, ends with Close.
		go func() {
			defer s.work.Done()
			s.run()
		}()
	})
	select {
	case s.queue <- message{address, body}:
	default:
		s.fail(address, errFull)
	}
}

// Close gives up what was not sent yet, and waits.
func (s *Sender) Close() {
	s.cancel()
	s.work.Wait()
}

func (s *Sender) run() {
	for {
		select {
		case m := <-s.queue:
			s.send(m)
		case <-s.ctx.Done():
			return
		}
	}
}

// send tries until one answer is good, or time is up.
func (s *Sender) send(m message) {
	for i := 0; ; i++ {
		err := s.try(m)
		if err == nil || s.ctx.Err() != nil {
			return
		}
		if i == len(s.config.Waits) {
			s.fail(m.address, fmt.Errorf("%d tries: %w", i+1, err))
			return
		}
		select {
		case <-time.After(s.config.Waits[i]):
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Sender) try(m message) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.address, bytes.NewReader(m.body))
	if err != nil {
		return errors.New("the address can't be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "limitgate")
	answer, err := s.client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address
		}
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // the status has said it all
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("got status %d", answer.StatusCode)
	}
	return nil
}

// fail tells of a message that is lost, by the host it was for.
func (s *Sender) fail(address string, err error) {
	if s.config.Failed == nil {
		return
	}
	host := "?"
	if u, bad := url.Parse(address); bad == nil {
		host = u.Host
	}
	s.config.Failed(fmt.Errorf("webhook at %s: %w", host, err))
}
