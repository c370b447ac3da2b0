package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// object is an entry of a list.
type object struct {
	Key          string    `xml:"Key"`
	Size         int64     `xml:"Size"`
	ETag         string    `xml:"ETag"`
	LastModified time.Time `xml:"LastModified"`
}

// page is the answer to ListObjectsV2.
type page struct {
	Contents  []object `xml:"Contents"`
	Truncated bool     `xml:"IsTruncated"`
	Next      string   `xml:"NextContinuationToken"`
}

// mostListed bounds a list, so that a store that never ends one cannot fill the memory.
const mostListed = 10_000_000

// errEndless says that a list does not end.
var errEndless = errors.New("the list of objects does not end")

// pageSize is how many keys the store lists at once.
const pageSize = 1000

// list returns the objects whose keys begin with prefix, after a key, in the order of their keys. most of 0 means all.
func (b *Bucket) list(ctx context.Context, prefix, after string, most int) (out []object, err error) {
	err = b.each(ctx, prefix, after, most, func(o object) bool {
		out = append(out, o)
		return most == 0 || len(out) < most
	})
	return out, err
}

// each calls do with each of these objects until it returns false. A positive most is how many are wanted.
func (b *Bucket) each(ctx context.Context, prefix, after string, most int, do func(object) bool) error {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	if most > 0 && most < pageSize {
		query.Set("max-keys", strconv.Itoa(most))
	}
	if after != "" {
		query.Set("start-after", after)
	}
	seen := 0
	for {
		data, _, err := b.read(ctx, &call{method: http.MethodGet, query: query})
		if err != nil {
			return err
		}
		var p page
		if err := xml.Unmarshal(data, &p); err != nil {
			return err
		}
		for _, o := range p.Contents {
			if !strings.HasPrefix(o.Key, prefix) {
				return errors.New("the list has another key than was asked for")
			}
			if !do(o) {
				return nil
			}
		}
		if seen += len(p.Contents); seen > mostListed {
			return errEndless
		}
		if !p.Truncated {
			return nil
		}
		if p.Next == "" || p.Next == query.Get("continuation-token") {
			return errEndless
		}
		query.Set("continuation-token", p.Next)
		query.Del("start-after")
	}
}
