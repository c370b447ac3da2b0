package blob_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

func TestDigestsAreText(t *testing.T) {
	t.Parallel()
	d := blob.Digest{1, 2, 0xff}
	back, err := blob.ParseDigest(d.String())
	if err != nil || back != d {
		t.Errorf("%v came back as %v: %v", d, back, err)
	}
	long := d.String() + "00"
	for _, bad := range []string{"", "00", long, long[1:65] + "g", "F" + d.String()[1:]} {
		if _, err := blob.ParseDigest(bad); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%q is a digest: %v", bad, err)
		}
	}
}

// stingy returns nothing for ever.
type stingy struct{}

func (stingy) Read([]byte) (int, error) { return 0, nil }

func TestASourceThatReturnsNothing(t *testing.T) {
	t.Parallel()
	_, err := blob.Split(t.Context(), "test", stingy{}, 0, func(int64, []byte) error { return nil })
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

// What Split cuts, NewReader puts together, whatever range is asked for and however little is read at a time.
func TestPiecesAreTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(blob.PieceSize-3, blob.PieceSize+3), rapid.IntRange(0, 3*blob.PieceSize)).Draw(r, "size")
		data := bytes.Repeat([]byte{1, 2, 3, 5, 7, 11, 13}, size/7+1)[:size]
		var pieces []blob.Piece
		b, err := blob.Split(r.Context(), "test", iotest.HalfReader(bytes.NewReader(data)), int64(size)+1, func(first int64, data []byte) error {
			pieces = append(pieces, blob.Piece{Of: 7, First: first, Data: data, Sum: blob.SumOf(7, first, data)})
			return nil
		})
		if err != nil || b.Size != int64(size) || len(pieces) != (size+blob.PieceSize-1)/blob.PieceSize {
			r.Fatalf("%d bytes are %d pieces: %v, %v", size, len(pieces), b, err)
		}
		from := rapid.IntRange(0, size+5).Draw(r, "offset")
		length := rapid.IntRange(-1, size+5).Draw(r, "length")
		reader, err := blob.NewReader("test", b, int64(from), int64(length), func(at int64) (blob.Piece, error) {
			return pieces[at/blob.PieceSize], nil
		})
		if err != nil {
			r.Fatal(err)
		}
		want := data[min(from, size):]
		if length >= 0 {
			want = want[:min(length, len(want))]
		}
		if err := iotest.TestReader(reader, want); err != nil {
			r.Fatal(err)
		}
	})
}

// Pieces of the wrong place, of the wrong blob, missing or too long are damage.
func TestPiecesThatAreNotTheBlobs(t *testing.T) {
	t.Parallel()
	data := []byte("hello world")
	b, err := blob.Split(t.Context(), "test", bytes.NewReader(data), 0, func(int64, []byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	at := func(of, first int64, data string) blob.Piece {
		return blob.Piece{Of: of, First: first, Data: []byte(data), Sum: blob.SumOf(of, first, []byte(data))}
	}
	moved := at(1, 0, "hello world")
	moved.Of = 2
	for name, p := range map[string]blob.Piece{
		"other bytes":         at(1, 0, "hello_world"),
		"too many bytes":      at(1, 0, "hello world!"),
		"no bytes":            at(1, 0, ""),
		"a piece behind it":   at(1, 6, "world"),
		"another blob's":      moved,
		"a sum that is wrong": {Of: 1, Data: data},
	} {
		r, err := blob.NewReader("test", b, 0, -1, func(int64) (blob.Piece, error) { return p, nil })
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if e, ok := errors.AsType[*event.Error](err); !ok || e.Code != blob.CodeDamaged || len(got) > 0 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := blob.NewReader("test", blob.Blob{Digest: b.Digest}, 0, -1, nil); err == nil {
		t.Error("no bytes have the digest of some")
	}
}
