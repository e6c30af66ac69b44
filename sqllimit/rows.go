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
func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err != nil && r.err == nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err
}

// Close closes the rows, and ends the statement, once, also where the driver panics.
func (r *rows) Close() error {
	defer func() {
		if v := r.visit; v != nil {
			r.visit = nil
			r.m.end(context.Background(), v, Outcome{r.statement, r.err})
		}
	}()
	return r.Rows.Close()
}

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
