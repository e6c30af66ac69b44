package sqllimit

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"github.com/limitgate/limitgate/internal/admit"
)

// rows are those of a query that is followed to their close, with what each has. The rest comes in by their shape.
type rows struct {
	driver.Rows
	m         *Middleware
	visit     *admit.Visit // nil: over
	statement Statement
	err       error // the first that reading gave
}

// Next reads a row.
func (r *rows) Next(dest []driver.Value) error { return r.read(r.Rows.Next(dest)) }

// read keeps the first error of reading.
func (r *rows) read(err error) error {
	if err != nil && r.err == nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err
}

// Close closes the rows, and ends the statement, once, also where the driver panics.
func (r *rows) Close() error {
	err := errPanicked
	defer func() {
		if v := r.visit; v != nil {
			r.visit = nil
			_ = r.read(err)
			r.m.end(context.Background(), v, Outcome{r.statement, r.err})
		}
	}()
	err = r.Rows.Close()
	return err
}

// nextSets are rows that may have others behind them.
type nextSets struct{ r *rows }

// HasNextResultSet tells whether there are others.
func (n nextSets) HasNextResultSet() bool { return n.r.Rows.(nextResultSet).HasNextResultSet() }

// NextResultSet goes on to them.
func (n nextSets) NextResultSet() error { return n.r.read(n.r.Rows.(nextResultSet).NextResultSet()) }

// What rows may be able to do beyond driver.Rows, without driver.Rows itself, of which there is to be one only.
type (
	nextResultSet interface {
		HasNextResultSet() bool
		NextResultSet() error
	}
	scanType         interface{ ColumnTypeScanType(index int) reflect.Type }
	databaseTypeName interface{ ColumnTypeDatabaseTypeName(index int) string }
	length           interface {
		ColumnTypeLength(index int) (length int64, ok bool)
	}
	nullable interface {
		ColumnTypeNullable(index int) (nullable, ok bool)
	}
	precisionScale interface {
		ColumnTypePrecisionScale(index int) (precision, scale int64, ok bool)
	}
)
