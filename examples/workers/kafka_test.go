package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// kafkaReader is what the loop needs of a client: kafka.Reader of segmentio has these methods, with Message for kafka.Message.
type kafkaReader[Message any] interface {
	FetchMessage(ctx context.Context) (Message, error)
	CommitMessages(ctx context.Context, messages ...Message) error
}

// consumeKafka hands messages to work one after the other, at the rate of what work writes to, and commits each when it is done. Messages of
// a partition keep their order, so one that is early has all behind it wait: nothing is put back. cost is what a message weighs, such as
// its bytes.
func consumeKafka[Message any](ctx context.Context, reader kafkaReader[Message], pace *limitgate.Limiter,
	cost func(m Message) limitgate.Cost, work func(ctx context.Context, m Message) error) error {
	for {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return fmt.Errorf("fetching: %w", err)
		}
		for {
			d, err := pace.WaitAt(ctx, limitgate.Now(), "warehouse", cost(m), limitgate.Sleep)
			if err != nil {
				return err // ctx ended; the message is not committed, so whoever has the partition next gets it
			}
			if d.Admitted() {
				break
			}
			room := d.RetryAfter() // others have filled the queue of those who wait
			if room == 0 {
				return fmt.Errorf("a message that costs %d: %w", cost(m), errTooLarge)
			}
			if _, err := limitgate.Sleep(ctx, limitgate.Now(), room); err != nil {
				return err
			}
		}
		if err := work(ctx, m); err != nil {
			return fmt.Errorf("working: %w", err)
		}
		if err := reader.CommitMessages(ctx, m); err != nil {
			return fmt.Errorf("committing: %w", err)
		}
	}
}

// errTooLarge says that a message never fits the limit.
var errTooLarge = errors.New("more than the limit ever lets through")

// record is a message of the examples.
type record struct {
	offset int64
	value  string
}

// partition is a reader of one partition.
type partition struct {
	records   []record
	committed []int64
}

func (p *partition) FetchMessage(context.Context) (record, error) {
	if len(p.records) == 0 {
		return record{}, errDrained
	}
	r := p.records[0]
	p.records = p.records[1:]
	return r, nil
}

func (p *partition) CommitMessages(_ context.Context, messages ...record) error {
	for _, m := range messages {
		p.committed = append(p.committed, m.offset)
	}
	return nil
}

func size(r record) limitgate.Cost { return limitgate.Cost(len(r.value)) }

// A hundred bytes a second reach the warehouse, and ten at once.
func Example_kafka() {
	pace, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 10, Queue: 1000})
	if err != nil {
		panic(err)
	}
	reader := &partition{records: []record{{1, "ten bytes!"}, {2, "ten bytes!"}, {3, "ten bytes and ten"}}}
	begin := time.Now()
	err = consumeKafka(context.Background(), reader, pace, size, func(_ context.Context, r record) error {
		fmt.Println(r.offset, "in time:", time.Since(begin) >= []time.Duration{0, 100 * time.Millisecond, 270 * time.Millisecond}[r.offset-1])
		return nil
	})
	fmt.Println(reader.committed, err)
	// Output:
	// 1 in time: true
	// 2 in time: true
	// 3 in time: true
	// [1 2 3] fetching: no more messages
}

func TestKafkaConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 10, Queue: 1000})
		if err != nil {
			t.Fatal(err)
		}
		reader := &partition{records: []record{{1, "ten bytes!"}, {2, "ten bytes!"}, {3, "ten bytes and ten"}}}
		var at []time.Duration
		begin := time.Now()
		work := func(context.Context, record) error { at = append(at, time.Since(begin)); return nil }
		if err := consumeKafka(t.Context(), reader, pace, size, work); !errors.Is(err, errDrained) {
			t.Error(err)
		}
		if want := []time.Duration{0, 100 * time.Millisecond, 270 * time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("worked at %v, want %v", at, want)
		}
		// A worker that is stopped while it waits commits nothing it has not done, and leaves its turn to others.
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		reader = &partition{records: []record{{4, "ten bytes!"}, {5, "ten bytes!"}}}
		if err := consumeKafka(ctx, reader, pace, size, work); !errors.Is(err, context.Canceled) || len(reader.committed) != 0 {
			t.Errorf("got %v with %v committed, want it stopped before the first", err, reader.committed)
		}
		time.Sleep(80 * time.Millisecond)
		if d, err := pace.TakeAt(t.Context(), limitgate.Now(), "warehouse", 10); err != nil || d.Outcome != limitgate.Passed {
			t.Errorf("got %+v, %v, want the bucket full 100 ms after it was empty", d, err)
		}
		reader = &partition{records: []record{{5, string(make([]byte, 2000))}}}
		if err := consumeKafka(t.Context(), reader, pace, size, work); !errors.Is(err, errTooLarge) {
			t.Errorf("2000 bytes at most 1010 of which may wait: got %v", err)
		}
		broken := errors.New("the warehouse is closed")
		reader = &partition{records: []record{{6, "x"}}}
		err = consumeKafka(t.Context(), reader, pace, size, func(context.Context, record) error { return broken })
		if !errors.Is(err, broken) || len(reader.committed) != 0 {
			t.Errorf("got %v with %v committed", err, reader.committed)
		}
	})
}
