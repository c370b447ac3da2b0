package s3

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the protocol's sum against damage on the way
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/braidrun/braid/workspace"
)

// copiers is how many objects are copied at the same time.
const copiers = 8

// Copy implements [workspace.Backend]. A file that is removed meanwhile is left out.
func (b *Bucket) Copy(ctx context.Context, from, to workspace.Owner) error {
	const op = "copy files"
	source, target := b.of(from), b.of(to)
	list, err := b.list(ctx, source, "", 0)
	if err != nil {
		return described(op, "", err)
	}
	var (
		group sync.WaitGroup
		once  sync.Once
		bad   error
		next  = make(chan object)
	)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range min(copiers, len(list)) {
		group.Go(func() {
			for o := range next {
				if err := b.copy(ctx, o, target+strings.TrimPrefix(o.Key, source)); err != nil {
					once.Do(func() { bad = err; stop() })
				}
			}
		})
	}
	size := int64(0)
feed:
	for _, o := range list {
		size += o.Size
		select {
		case next <- o:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	group.Wait()
	if bad == nil {
		bad = ctx.Err()
	}
	if bad != nil {
		_ = b.removeAll(context.WithoutCancel(ctx), target) // the new workspace has no user yet
		return described(op, "", bad)
	}
	b.totals.add(to.Tenant, size)
	return nil
}

func (b *Bucket) copy(ctx context.Context, o object, to string) error {
	data, _, err := b.read(ctx, &call{
		method: http.MethodPut, key: to, headers: map[string]string{"X-Amz-Copy-Source": "/" + b.bucket + "/" + escapedKey(o.Key)},
	})
	refused, answered := errors.AsType[*refusal](err)
	switch {
	case answered && refused.status == http.StatusNotFound && refused.Code != "NoSuchBucket":
		return nil
	case err != nil:
		return err
	}
	return failedInside(data)
}

// failedInside returns the error that an answer with the status 200 holds.
func failedInside(data []byte) error {
	var e struct {
		XMLName xml.Name `xml:""` // of any name
		Code    string   `xml:"Code"`
		Message string   `xml:"Message"`
	}
	if xml.Unmarshal(data, &e) == nil && e.XMLName.Local == "Error" {
		return &refusal{status: http.StatusInternalServerError, Code: e.Code, Message: e.Message}
	}
	return nil
}

// Remove implements [workspace.Backend].
func (b *Bucket) Remove(ctx context.Context, o workspace.Owner) error {
	b.totals.forget(o.Tenant)
	return described("remove files", "", b.removeAll(ctx, b.of(o)))
}

// RemoveTenant implements [workspace.Backend].
func (b *Bucket) RemoveTenant(ctx context.Context, tenant string) error {
	b.totals.forget(tenant)
	return described("remove files", "", b.removeAll(ctx, b.ofTenant(tenant)))
}

// removeAll removes all objects whose keys begin with prefix.
func (b *Bucket) removeAll(ctx context.Context, prefix string) error {
	for {
		list, err := b.list(ctx, prefix, "", pageSize)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := b.removeThese(ctx, list); err != nil {
			return err
		}
	}
}

func (b *Bucket) removeThese(ctx context.Context, list []object) error {
	type one struct {
		Key string `xml:"Key"`
	}
	var ask struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Objects []one    `xml:"Object"`
		Quiet   bool     `xml:"Quiet"`
	}
	ask.Quiet = true
	for _, o := range list {
		ask.Objects = append(ask.Objects, one{o.Key})
	}
	var body bytes.Buffer
	if err := xml.NewEncoder(&body).Encode(ask); err != nil {
		return err
	}
	sum := md5.Sum(body.Bytes()) //nolint:gosec // as above
	c := (&call{
		method: http.MethodPost, query: url.Values{"delete": {""}},
		headers: map[string]string{"Content-Md5": base64.StdEncoding.EncodeToString(sum[:]), "Content-Type": "application/xml"},
	}).withBody(body.Bytes())
	data, _, err := b.read(ctx, c)
	if err != nil {
		return err
	}
	if err := failedInside(data); err != nil {
		return err
	}
	var answer struct {
		Errors []refusal `xml:"Error"`
	}
	if err := xml.Unmarshal(data, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		answer.Errors[0].status = http.StatusForbidden
		return &answer.Errors[0]
	}
	return nil
}
