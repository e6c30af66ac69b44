package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync/atomic"
)

const (
	sniffed = 64 << 10 // of a log that is looked at before it is read: so much behind the last of its first lines that is longer
	deepest = 4 << 20  // that is looked at, however long the lines are
)

// stream is one log on its way into blocks.
type stream struct {
	source *Source
	format *Format
	first  int64 // the stamp of its first record, as far as the sample tells

	file  *os.File  // that is open, if it is one
	text  io.Reader // of what is open, unpacked
	done  func()    // releases what unpacks it
	again bool      // it is a file that can be opened again: nothing is open until its turn comes

	free  chan *block // to be filled
	order chan *block // filled, in the log's order; each is ready when a worker has parsed it
	stop  chan struct{}

	head    *block // whose records are being read; nil before the first and behind the last one
	next    int    // the first of them that is not read yet
	numbers int64  // lines before the head
}

// counting counts the bytes that are read from a file, as they are in it.
type counting struct {
	in io.Reader
	n  *atomic.Int64
}

// Read reads and counts.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// newStream looks at the beginning of a log: how it is packed, what its format is and when it begins. size is Unknown where
// it has none.
func newStream(name string, o *Options, guess *recogniser, read *atomic.Int64) (s *stream, size int64, err error) {
	s = &stream{source: &Source{Name: name}, format: o.Format, first: math.MinInt64}
	size = Unknown
	in := o.Stdin
	count := &atomic.Int64{}
	if name == "-" {
		count = read
	} else {
		if s.file, err = os.Open(name); err != nil {
			return nil, 0, fmt.Errorf("opening a log: %w", err)
		}
		in = s.file
		info, err := s.file.Stat()
		if err != nil {
			return nil, 0, errors.Join(fmt.Errorf("opening a log: %w", err), s.file.Close())
		}
		if info.IsDir() {
			return nil, 0, errors.Join(fmt.Errorf("opening a log: %s is a folder: name the files in it", name), s.file.Close())
		}
		if s.again = info.Mode().IsRegular(); s.again {
			size = info.Size()
		} else {
			count = read
		}
	}
	if err = s.sniff(&counting{in, count}, guess); err != nil {
		s.close()
		return nil, 0, fmt.Errorf("reading %s: %w", name, err)
	}
	if s.again {
		s.close() // a year of files may wait: they keep no sample and nothing that unpacks
	}
	return s, size, nil
}

// sniff reads the sample of a log.
func (s *stream) sniff(in io.Reader, guess *recogniser) error {
	var err error
	if s.text, s.source.Packed, s.done, err = unpack(in); errors.Is(err, errTorn) {
		s.source.Broken, s.again, s.text = err, false, bytes.NewReader(nil)
		return nil
	} else if err != nil {
		return err
	}
	sample, err := sampleOf(s.text)
	rest := s.text
	if err != nil {
		rest = failing{err}
	}
	s.text = io.MultiReader(bytes.NewReader(bytes.Clone(sample)), rest)
	if !errors.Is(err, io.EOF) { // the last line is not whole
		sample = sample[:bytes.LastIndexByte(sample, '\n')+1]
		switch {
		case len(sample) > 0:
		case err != nil:
			s.source.Broken, s.format = fmt.Errorf("%w: %w", errTorn, err), nil
			return nil
		case s.format == nil:
			return fmt.Errorf("its first line has more than %d MiB, so that no format is recognised: name one", deepest>>20)
		}
	}
	if s.format == nil {
		if s.format, s.source.Doubt, err = guess.recognise(sample); err != nil {
			return err
		}
		s.source.Recognised = s.format != nil
	}
	if s.format == nil {
		return nil
	}
	s.source.Format, s.source.Open = s.format.name, s.format.keys != nil
	s.source.Variables = s.format.paths(sample)
	b := newBlock()
	b.format, b.data = s.format, bytes.Clone(sample)
	if b.parse(); len(b.records) > 0 {
		s.first = soonest(b.records)
	}
	return nil
}

// sampleOf reads the beginning of a log: 64 KiB behind the last line that is longer than that, if it has so much.
func sampleOf(text io.Reader) (sample []byte, err error) {
	sample = make([]byte, 0, sniffed)
	from, begin := 0, 0 // where the short lines begin, and the line that is being read
	for err == nil && len(sample) < deepest && (len(sample)-from < sniffed || len(sample)-begin >= sniffed) {
		if len(sample) == cap(sample) {
			sample = slices.Grow(sample, sniffed)
		}
		var n int
		n, err = text.Read(sample[len(sample):min(cap(sample), deepest)])
		for sample = sample[:len(sample)+n]; ; {
			k := bytes.IndexByte(sample[begin:], '\n')
			if k >= sniffed {
				from = begin + k + 1
			}
			if k < 0 {
				break
			}
			begin += k + 1
		}
	}
	return sample, err
}

// failing is a reader that has nothing.
type failing struct{ err error }

// Read returns the error.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// open opens a file again and makes the stream ready to be filled with so many blocks.
func (s *stream) open(blocks int, read *atomic.Int64) error {
	if s.again {
		var err error
		if s.file, err = os.Open(s.source.Name); err != nil {
			return fmt.Errorf("opening a log: %w", err)
		}
		if s.text, _, s.done, err = unpack(&counting{s.file, read}); err != nil {
			s.close()
			return fmt.Errorf("reading %s: %w", s.source.Name, err)
		}
	}
	s.free, s.order, s.stop = make(chan *block, blocks), make(chan *block, blocks), make(chan struct{})
	for range blocks {
		s.free <- newBlock()
	}
	return nil
}

// close closes what is open.
func (s *stream) close() {
	if s.done != nil {
		s.done()
		s.done = nil
	}
	if s.file != nil {
		// The file was only read.
		_ = s.file.Close()
		s.file = nil
	}
	if s.again {
		s.text = nil
	}
}

// fill reads the log into blocks until it ends or the stream is stopped, and gives each to the workers and, in order, to who
// reads.
func (s *stream) fill(work chan<- *block) {
	var carry []byte
	long := false // what comes belongs to a line that was given away as too long
	for {
		var b *block
		select {
		case b = <-s.free:
		case <-s.stop:
			return
		}
		b.reset()
		b.format = s.format
		b.data = append(b.data, carry...)
		carry, long = s.block(b, carry, long)
		ends := b.err != nil
		select {
		case work <- b:
		case <-s.stop:
			return
		}
		s.order <- b // there is room for all blocks
		if ends {
			return
		}
	}
}

// block fills one block with whole lines and returns what was read of the next one.
func (s *stream) block(b *block, carry []byte, long bool) ([]byte, bool) {
	b.data = slices.Grow(b.data, blockSize)
	for {
		if n := len(b.data); n == cap(b.data) || n >= blockSize {
			cut := bytes.LastIndexByte(b.data, '\n')
			switch {
			case long && cut < 0:
				b.data = b.data[:0]
				continue
			case long:
				first := bytes.IndexByte(b.data, '\n')
				b.data, long = append(b.data[:0], b.data[first+1:]...), false
				continue
			case cut >= 0:
				carry = append(carry[:0], b.data[cut+1:]...)
				b.data = b.data[:cut+1]
				return carry, false
			case n >= maxLine:
				b.data, b.long = b.data[:shown+1], true
				return carry[:0], true
			}
			b.data = slices.Grow(b.data, max(blockSize, n))
		}
		n, err := s.text.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if err != nil {
			if long {
				first := bytes.IndexByte(b.data, '\n')
				b.data = append(b.data[:0], b.data[first+1:]...)
				if first < 0 {
					b.data = b.data[:0]
				}
			}
			b.err, b.torn = err, !errors.Is(err, io.EOF)
			return carry[:0], false
		}
	}
}
