package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// errPacked is in the errors of unpack for logs that are packed in a way that is not read.
var errPacked = errors.New("only gzip and zstd are read as they are")

// errTorn is in the errors of unpack for logs that are broken in their first bytes.
var errTorn = errors.New("its beginning is broken")

// maxWindow bounds what a zstd file may make the reader keep.
const maxWindow = 128 << 20

// unpack returns the text of a log that may be packed, which its first bytes tell, and by what. The reader that it returns
// starts no goroutine; release frees what it keeps.
func unpack(from io.Reader) (text io.Reader, packed string, release func(), err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	head, err := in.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", nil, err
	}
	release = func() {}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, "", nil, fmt.Errorf("reading gzip: %w: %w", errTorn, err)
		}
		return skipMark(z), "gzip", release, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}): // a frame to skip comes first
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, "", nil, fmt.Errorf("reading zstd: %w: %w", errTorn, err)
		}
		return skipMark(z), "zstd", z.Close, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return nil, "", nil, fmt.Errorf("it is packed with bzip2, and %w: bzip2 -dc it into standard input", errPacked)
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, "", nil, fmt.Errorf("it is packed with xz, and %w: xz -dc it into standard input", errPacked)
	}
	return skipMark(in), "", release, nil
}

// marked skips the mark that Windows programs put before UTF-8.
type marked struct {
	in      io.Reader
	started bool
	rest    []byte
	err     error // behind the rest
}

func skipMark(in io.Reader) io.Reader { return &marked{in: in} }

// Read reads what follows the mark.
func (m *marked) Read(p []byte) (int, error) {
	if !m.started {
		m.started = true
		head := make([]byte, 3)
		n := 0
		for n < len(head) && m.err == nil {
			var k int
			k, m.err = m.in.Read(head[n:])
			n += k
		}
		if head = head[:n]; !bytes.Equal(head, []byte("\xef\xbb\xbf")) {
			m.rest = head
		}
	}
	if len(m.rest) > 0 {
		n := copy(p, m.rest)
		m.rest = m.rest[n:]
		return n, nil
	}
	if m.err != nil {
		return 0, m.err
	}
	return m.in.Read(p)
}
