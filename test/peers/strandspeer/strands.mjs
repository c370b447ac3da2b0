// One conversation of an agent of @strands-agents/sdk with the stand-in of Bedrock at
// argv[3], by the name of the scenario in argv[2]. It prints what came of it as JSON.
import { Agent, BedrockModel, tool } from '@strands-agents/sdk'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { z } from 'zod'

const [scenario, endpoint, region, accessKeyId, secretAccessKey, sessionToken, modelId] = process.argv.slice(2)

const model = new BedrockModel({
  region,
  modelId,
  clientConfig: {
    endpoint,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  },
})

const pair = z.object({ a: z.number().int(), b: z.number().int() })
const tools = [
  tool({ name: 'add', description: 'Adds.', inputSchema: pair, callback: ({ a, b }) => `the sum is ${a + b}` }),
  tool({
    name: 'fail', description: 'Fails.', inputSchema: z.object({}),
    callback: () => { throw new Error('no luck') },
  }),
  tool({
    name: 'pay', description: 'Pays.', inputSchema: z.object({}),
    callback: (_, context) => `said ${context.interrupt({ name: 'ok', reason: 'Pay?' })}`,
  }),
]

const agent = new Agent({ model, tools, printer: false, retryStrategy: null })
const out = { stop: '', error: '', structured: null }
try {
  const options = scenario === 'structured output' ? { structuredOutputSchema: z.object({ city: z.string() }) } : {}
  let result = await agent.invoke('go', options)
  out.stop = result.stopReason
  if (result.stopReason === 'interrupt') {
    out.asked = result.interrupts.map((i) => ({ name: i.name, reason: i.reason }))
    out.paused = agent.messages.map((m) => m.toJSON())
    result = await agent.invoke(result.interrupts.map((i) => ({ interruptResponse: { interruptId: i.id, response: 'yes' } })))
    out.stop += ', ' + result.stopReason
  }
  out.structured = result.structuredOutput ?? null
} catch (e) {
  out.error = e.constructor.name
}
out.messages = agent.messages.map((m) => m.toJSON())
console.log(JSON.stringify(out))
