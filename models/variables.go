package models

import (
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/bedrock"
)

// These are AWS's environment variables.
const (
	awsRegion        = bedrock.RegionVariable
	awsDefaultRegion = "AWS_DEFAULT_REGION"
	awsProfile       = "AWS_PROFILE"
	awsKeyID         = "AWS_ACCESS_KEY_ID"
	awsKey           = "AWS_SECRET_ACCESS_KEY"
	awsSession       = "AWS_SESSION_TOKEN"
	awsEndpoint      = anthropic.BedrockBaseVariable
)

// These environment variables of Azure have the names of Microsoft's documentation and of other
// programs.
const (
	azureKey           = "AZURE_OPENAI_API_KEY"
	azureOtherKey      = "AZURE_API_KEY"
	azureEndpoint      = "AZURE_OPENAI_ENDPOINT"
	azureResource      = "AZURE_OPENAI_RESOURCE"
	azureOtherResource = "AZURE_RESOURCE_NAME"
)

// These environment variables have the names of Google's own tools and of other programs.
const (
	googleKey           = "GOOGLE_VERTEX_API_KEY" // of the express mode of Vertex AI
	googleFile          = "GOOGLE_APPLICATION_CREDENTIALS"
	googleProject       = "GOOGLE_CLOUD_PROJECT"
	googleOtherProject  = "GOOGLE_PROJECT"
	googleLocation      = "GOOGLE_CLOUD_LOCATION"
	googleOtherLocation = "GOOGLE_CLOUD_REGION"
	googleQuota         = "GOOGLE_CLOUD_QUOTA_PROJECT"
)

var variableNames = lazyre.New(`^[A-Z_][A-Z0-9_]{0,63}$`)
