package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Options say how logs are read. The zero value recognises each log's format.
type Options struct {
	Format  *Format   // of all logs; nil recognises that of each by its first lines
	Likely  []*Format // where Format is nil: those that are tried before the ones with names
	Stdin   io.Reader // what the name "-" reads
	Workers int       // goroutines that parse; 0 is one for each processor
}

// Reader reads logs: Open starts it, Next reads, Close ends it. One goroutine at a time may call its methods, except Progress.
//
// One goroutine for each log that is open reads and unpacks it into blocks of whole lines, workers make records of them, and
// Next puts the records in order. A block goes round between them, so what is in memory depends on how many logs overlap in
// time, not on how long they are: a log is opened when its first record is due.
type Reader struct {
	sources []*Source
	waiting []*stream // not opened yet, by their first stamps
	active  []*stream
	batch   Batch
	broken  error // what ended the reading, if anything did

	work    chan *block
	quit    chan struct{} // closed by Close
	workers sync.WaitGroup
	fillers sync.WaitGroup
	blocks  int // of each stream
	read    atomic.Int64
	total   int64
}

// Open begins to read logs: files, or "-" for standard input, in any order. An error names the log that can't be read, or
// whose format is not recognised.
func Open(names []string, o Options) (*Reader, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	r := &Reader{work: make(chan *block), quit: make(chan struct{}), blocks: o.Workers + 2}
	stdin, guess := 0, &recogniser{likely: o.Likely}
	for _, name := range names {
		if name == "-" {
			if stdin++; stdin > 1 || o.Stdin == nil {
				r.close()
				return nil, errors.New("reading logs: standard input can be read once")
			}
		}
		s, size, err := newStream(name, &o, guess, &r.read)
		if err != nil {
			r.close()
			return nil, err
		}
		r.sources, r.waiting = append(r.sources, s.source), append(r.waiting, s)
		if size < 0 || r.total < 0 {
			r.total = Unknown
		} else {
			r.total += size
		}
	}
	slices.SortStableFunc(r.waiting, func(a, b *stream) int { return cmp.Compare(a.first, b.first) })
	for range o.Workers {
		// Owned by the Reader; ends with Close.
		r.workers.Go(r.parse)
	}
	return r, nil
}

// parse parses blocks until the reader is closed.
func (r *Reader) parse() {
	for {
		select {
		case b := <-r.work:
			b.parse()
			b.ready <- struct{}{}
		case <-r.quit:
			return
		}
	}
}

// Sources returns what is known of each log, in the order in which they were given.
func (r *Reader) Sources() []*Source { return r.sources }

// Progress returns how many bytes of the logs, as they are stored, are read, and how many there are: Unknown where a log has no
// size. Any goroutine may call it.
func (r *Reader) Progress() (read, total int64) { return r.read.Load(), r.total }

// Next returns the next records: a run of one source, in the order of stamps as far as each source's own lines are. It
// returns io.EOF behind the last one. What it returned before is no longer good.
func (r *Reader) Next() (*Batch, error) {
	if r.broken != nil {
		return nil, r.broken
	}
	for {
		if err := r.advance(); err != nil {
			r.broken = err
			return nil, err
		}
		if len(r.active) == 0 {
			return nil, io.EOF
		}
		s := slices.MinFunc(r.active, func(a, b *stream) int { return cmp.Compare(a.stamp(), b.stamp()) })
		if len(r.waiting) > 0 && r.waiting[0].first < s.stamp() {
			if err := r.start(r.waiting[0]); err != nil {
				r.broken = err
				return nil, err
			}
			continue
		}
		r.batch = Batch{Source: s.source, Records: s.take(r.limit(s))}
		return &r.batch, nil
	}
}

// limit is the stamp up to which records of s come before those of all others.
func (r *Reader) limit(s *stream) int64 {
	limit := int64(math.MaxInt64)
	for _, other := range r.active {
		if other != s {
			limit = min(limit, other.stamp())
		}
	}
	if len(r.waiting) > 0 {
		limit = min(limit, r.waiting[0].first)
	}
	return limit
}

// advance makes all active streams stand at a record, and at least one active while there is one.
func (r *Reader) advance() error {
	for i := 0; i < len(r.active); {
		if r.active[i].settle() {
			i++
			continue
		}
		r.active = slices.Delete(r.active, i, i+1)
	}
	for len(r.active) == 0 && len(r.waiting) > 0 {
		if err := r.start(r.waiting[0]); err != nil {
			return err
		}
	}
	return nil
}

// start opens a stream that waits and makes it active if it has records.
func (r *Reader) start(s *stream) error {
	r.waiting[0] = nil // what the stream will hold is not to live as long as those behind it wait
	r.waiting = r.waiting[1:]
	if s.format == nil { // an empty log, or one that is broken from its first bytes
		s.close()
		return nil
	}
	if err := s.open(r.blocks, &r.read); err != nil {
		return err
	}
	fill := func() { s.fill(r.work) }
	if s.source.Name == "-" {
		// Owned by the Reader; ends with standard input, or with the first read of it after Close.
		go fill()
	} else {
		// Owned by the Reader; ends with the file, or when Close stops the stream and closes the file.
		r.fillers.Go(fill)
	}
	if s.settle() {
		r.active = append(r.active, s)
	}
	return nil
}

// Close ends the reading and waits for the goroutines, except one that waits for standard input.
func (r *Reader) Close() error {
	r.close()
	return nil
}

func (r *Reader) close() {
	for _, s := range r.active {
		close(s.stop)
		if s.file != nil {
			// It was only read; closing it ends a read that waits.
			_ = s.file.Close()
		}
	}
	r.fillers.Wait()
	for _, s := range append(r.waiting, r.active...) {
		if s.source.Name != "-" {
			s.close()
		}
	}
	r.active, r.waiting = nil, nil
	select {
	case <-r.quit:
	default:
		close(r.quit)
	}
	r.workers.Wait()
	if r.broken == nil {
		r.broken = errors.New("reading logs: the reader is closed")
	}
}

// stamp is that of the record at which the stream stands, or of one of the next few that is before it: one that is stamped far
// in the future does not make all behind it wait.
func (s *stream) stamp() int64 { return soonest(s.head.records[s.next:]) }

// soonest is the earliest stamp of the first few records; there must be one.
func soonest(records []Record) int64 {
	stamp := records[0].Stamp
	for i := 1; i < min(len(records), 4); i++ {
		stamp = min(stamp, records[i].Stamp)
	}
	return stamp
}

// take returns the records from the current one on that are stamped up to the limit, at least the current one.
func (s *stream) take(limit int64) []Record {
	from := s.next
	s.next++
	for s.next < len(s.head.records) && s.head.records[s.next].Stamp <= limit {
		s.next++
	}
	return s.head.records[from:s.next]
}

// settle makes the stream stand at a record that is not read yet; false says that there is none left, and it is closed.
func (s *stream) settle() bool {
	for s.head == nil || s.next == len(s.head.records) {
		if s.head != nil {
			if s.head.err != nil {
				s.head = nil
				s.close()
				return false
			}
			s.free <- s.head
		}
		s.head, s.next = <-s.order, 0
		<-s.head.ready
		s.account(s.head)
	}
	return true
}

// account adds a block's figures to those of the source.
func (s *stream) account(b *block) {
	src := s.source
	src.Lines += b.lines - b.empty
	src.Malformed += b.malformed
	for _, e := range b.examples {
		if len(src.Examples) < examples {
			e.Line += s.numbers
			src.Examples = append(src.Examples, e)
		}
	}
	s.numbers += b.lines
	if b.err != nil && !errors.Is(b.err, io.EOF) {
		src.Broken = fmt.Errorf("it breaks off behind line %d: %w", s.numbers, b.err)
	}
}
