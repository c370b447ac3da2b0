package s3

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/workspace"
)

// Options describe where files are. Bucket and Config are required.
type Options struct {
	Bucket string
	// Prefix begins all keys; empty means none.
	Prefix string
	// Endpoint is the address of a compatible store, such as http://127.0.0.1:9000. Empty means that of Config, or AWS.
	Endpoint string
	// Region is where the bucket is; empty means that of Config, or us-east-1 beside an Endpoint.
	Region string
	// Config holds the credentials.
	Config aws.Config
	// Quota bounds each workspace.
	Quota workspace.Quota
	// Stall is how long a store may send nothing; 0 means 30 seconds.
	Stall time.Duration
	// Client sends the requests, and follows no redirects; nil means one of its own.
	Client *http.Client
}

// ParseAddress reads an address such as s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-west-1.
func ParseAddress(address string) (Options, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return Options{}, unusable("there is no bucket in the address of the workspaces", "write it as s3://bucket/prefix")
	}
	o := Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	for name, values := range u.Query() {
		switch name {
		case "endpoint":
			o.Endpoint = values[len(values)-1]
		case "region":
			o.Region = values[len(values)-1]
		default:
			return Options{}, unusable("the address of the workspaces has an unknown part", "use endpoint and region, or none")
		}
	}
	return o, nil
}

var bucketName = lazyre.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// check refuses options that no request could use.
func (o *Options) check() (*url.URL, error) {
	if !bucketName.MatchString(o.Bucket) {
		return nil, unusable("the name of the bucket cannot be one", "use 3 to 63 lower-case letters, digits, dots and dashes")
	}
	if o.Prefix != "" {
		if err := workspace.CheckPath("workspaces", o.Prefix); err != nil {
			return nil, err
		}
	}
	if len(o.Prefix) > 256 {
		return nil, unusable("the prefix of the workspaces is too long", "use at most 256 bytes")
	}
	if o.Endpoint == "" && o.Config.BaseEndpoint != nil {
		o.Endpoint = *o.Config.BaseEndpoint
	}
	if o.Region == "" {
		o.Region = o.Config.Region
	}
	if o.Region == "" && o.Endpoint != "" {
		o.Region = "us-east-1"
	}
	if o.Region == "" {
		return nil, unusable("the region of the bucket is not known", "set AWS_REGION, or add ?region= to the address")
	}
	if o.Config.Credentials == nil {
		return nil, unusable("there are no credentials for the bucket", "give them as for the AWS command line")
	}
	if o.Endpoint == "" {
		if strings.Contains(o.Bucket, ".") { // the certificate does not fit such a host
			return url.Parse("https://s3." + o.Region + ".amazonaws.com/" + o.Bucket)
		}
		return url.Parse("https://" + o.Bucket + ".s3." + o.Region + ".amazonaws.com")
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, unusable("the endpoint of the bucket is no address", "write it as https://host:port")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+"/"+o.Bucket, ""
	return u, nil
}

func unusable(message, hint string) error {
	return &event.Error{Op: "workspaces", Kind: event.ErrInvalid, Message: message, Hint: hint}
}
