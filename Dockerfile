# braid serve as an agent inside Amazon Bedrock AgentCore Runtime, which wants an arm64
# image that answers on port 8080. docs/guide/agentcore-runtime.md says how it gets there.
#
#   docker buildx build --platform linux/arm64 -t braid .

FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH go build -trimpath -ldflags=-s -o /out/braid ./cmd/braid
RUN mkdir -p /out/data

# Nothing but the program, the certificates that it trusts, and a folder to write in.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/braid /braid
COPY --from=build --chown=65532:65532 /out/data /data
ENV BRAID_DATA=/data TMPDIR=/data HOME=/data
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/braid"]
# The platform is the only one who can reach the container, and has checked who asks.
CMD ["serve", "--agentcore", "--addr", "0.0.0.0:8080", "--trust-platform"]
