package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// natsMsg is what the loop needs of a jetstream.Msg.
type natsMsg interface {
	Subject() string
	Data() []byte
	Ack() error
	NakWithDelay(d time.Duration) error
}

// natsMessages is what the loop needs of a jetstream.MessagesContext, with Msg for its messages.
type natsMessages[Msg natsMsg] interface {
	Next() (Msg, error)
}

// consumeNATS hands messages to work, for each tenant at the limiter's rate, until ctx ends or there are no more. ackWait is the
// consumer's: a message that would wait for its turn until the server sends it again goes back at once, to come when it may.
func consumeNATS[Msg natsMsg](ctx context.Context, messages natsMessages[Msg], pace *limitgate.Limiter, ackWait time.Duration,
	work func(ctx context.Context, m Msg) error) error {
	for ctx.Err() == nil {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		tenant, _, _ := strings.Cut(strings.TrimPrefix(m.Subject(), "jobs."), ".")
		turn, cancel := context.WithTimeout(ctx, ackWait/2)
		d, err := pace.Wait(turn, tenant)
		cancel()
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), m.NakWithDelay(0))
		case err != nil: // its turn is later than it may wait, and was given back
			err = m.NakWithDelay(ackWait / 2)
		case !d.Admitted(): // nobody else is let into the queue
			err = m.NakWithDelay(max(d.RetryAfter(), time.Second))
		default:
			if err = work(ctx, m); err == nil {
				err = m.Ack()
			}
		}
		if err != nil {
			return fmt.Errorf("message of %s: %w", m.Subject(), err)
		}
	}
	return ctx.Err()
}

// job is a message of the examples.
type job struct {
	subject string
	fate    *[]string
}

func (j *job) Subject() string { return j.subject }
func (j *job) Data() []byte    { return nil }
func (j *job) Ack() error      { return j.note("ack") }
func (j *job) NakWithDelay(d time.Duration) error {
	return j.note("again in " + d.String())
}
func (j *job) note(what string) error {
	*j.fate = append(*j.fate, j.subject+" "+what)
	return nil
}

var errDrained = errors.New("no more messages")

// jobs is a stream of messages.
type jobs struct {
	subjects []string
	fate     []string
}

func (j *jobs) Next() (*job, error) {
	if len(j.subjects) == 0 {
		return nil, errDrained
	}
	s := j.subjects[0]
	j.subjects = j.subjects[1:]
	return &job{s, &j.fate}, nil
}

// A job a second for each tenant, three at once; whoever is early waits.
func Example_nats() {
	pace, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 100, Delay: 2})
	if err != nil {
		panic(err)
	}
	stream := &jobs{subjects: []string{"jobs.acme.1", "jobs.acme.2", "jobs.acme.3", "jobs.acme.4", "jobs.umbrella.1"}}
	begin := time.Now()
	err = consumeNATS(context.Background(), stream, pace, 30*time.Second, func(_ context.Context, m *job) error {
		fmt.Println(m.Subject(), "after", time.Since(begin).Round(time.Second))
		return nil
	})
	fmt.Println(err)
	// Output:
	// jobs.acme.1 after 0s
	// jobs.acme.2 after 0s
	// jobs.acme.3 after 0s
	// jobs.acme.4 after 1s
	// jobs.umbrella.1 after 1s
	// next message: no more messages
}

func TestNATSConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 3})
		if err != nil {
			t.Fatal(err)
		}
		stream := &jobs{subjects: []string{"jobs.a.1", "jobs.a.2", "jobs.b.1", "jobs.a.3"}}
		var at []time.Duration
		begin := time.Now()
		work := func(context.Context, *job) error { at = append(at, time.Since(begin)); return nil }
		if err := consumeNATS(t.Context(), stream, pace, 10*time.Second, work); !errors.Is(err, errDrained) {
			t.Error(err)
		}
		if want := []time.Duration{0, time.Second, time.Second, 2 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("worked at %v, want %v", at, want)
		}
		// At an ack wait of a second, a turn that is a second away is too late: the message goes back at once and costs nothing.
		stream = &jobs{subjects: []string{"jobs.c.1", "jobs.c.2", "jobs.c.3"}}
		begin = time.Now()
		if err := consumeNATS(t.Context(), stream, pace, time.Second, work); !errors.Is(err, errDrained) || time.Since(begin) != 0 {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		if want := []string{"jobs.c.1 ack", "jobs.c.2 again in 500ms", "jobs.c.3 again in 500ms"}; !slices.Equal(stream.fate, want) {
			t.Errorf("got %v, want %v", stream.fate, want)
		}
		// A worker that is stopped while it waits gives its message and its turn back.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		stream = &jobs{subjects: []string{"jobs.d.1", "jobs.d.2"}}
		if err := consumeNATS(ctx, stream, pace, 10*time.Second, work); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if want := []string{"jobs.d.1 ack", "jobs.d.2 again in 0s"}; !slices.Equal(stream.fate, want) {
			t.Errorf("got %v, want %v", stream.fate, want)
		}
	})
}
