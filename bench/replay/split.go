package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// split is the loop that replay is measured by: it reads a log and splits its lines into fields at blanks, quotes and brackets,
// and does nothing with them. It returns the numbers of lines and fields.
func split(name string) (lines, fields int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, fmt.Errorf("opening the log: %w", err)
	}
	defer f.Close()
	block := make([]byte, 0, 1<<20)
	found := make([][]byte, 0, 32)
	for {
		n, err := f.Read(block[len(block):cap(block)])
		block = block[:len(block)+n]
		rest := block
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			found = fieldsOf(rest[:end], found)
			lines, fields = lines+1, fields+len(found)
			rest = rest[end+1:]
		}
		block = block[:copy(block, rest)]
		switch {
		case err == io.EOF:
			return lines, fields, nil
		case err != nil:
			return 0, 0, fmt.Errorf("reading the log: %w", err)
		}
	}
}

// fieldsOf returns the fields of a line, in the memory of those of another one.
func fieldsOf(line []byte, fields [][]byte) [][]byte {
	fields = fields[:0]
	for i := 0; i < len(line); {
		end := byte(' ')
		switch line[i] {
		case ' ':
			i++
			continue
		case '"':
			end = '"'
			i++
		case '[':
			end = ']'
			i++
		}
		n := bytes.IndexByte(line[i:], end)
		if n < 0 {
			n = len(line) - i
		}
		fields = append(fields, line[i:i+n])
		i += n + 1
	}
	return fields
}
