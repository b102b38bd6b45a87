// The loop with a driver of our own. The driver does what the loop needs from outside; the loop knows nothing but the log.
// The first driver dies on the way. The second one continues from the log, and the tool does not run twice.
import {
  advance,
  createAgent,
  foldLog,
  nextAction,
  resumeLoop,
  runLoop,
  startLoop,
  tool,
  trustedLabel,
  z,
} from 'provost'
import type { Entry, LoopDriver } from 'provost'

const clock = tool({
  name: 'clock',
  effect: 'none',
  input: z.object({ city: z.string() }),
  execute: () => 'not called here',
})
const agent = createAgent({ name: 'watch', model: 'example/unused', tools: [clock] })

const log: Entry[] = []
const ids = { callId: 'call-1', toolCallId: 'call-1' }
const call = { type: 'tool-call', ...ids, toolName: 'clock', input: { city: 'Ulm' } } as const

const driver = (dies: boolean): LoopDriver => ({
  callModel({ request: { messages } }) {
    console.log(`calls the model with ${messages.length} messages`)
    const begins = messages.length === 1
    const id = `answer-${messages.length}`
    const content = begins ? [call] : [{ type: 'text', text: 'Noon.' } as const]
    const message = { id, role: 'assistant', content, label: trustedLabel, createdAt: Date.now() } as const
    return { message, usage: {}, finishReason: begins ? 'tool-calls' : 'stop' }
  },
  authorize: (calls) => calls.map(({ input }) => ({ proceed: input })),
  execute: (calls) =>
    calls.map((one) => {
      console.log(`executes ${one.tool.name} ${JSON.stringify(one.input)}`)
      return { ...one, outcome: 'ok', via: 'executed', output: { type: 'text', value: '12:00' }, label: trustedLabel }
    }),
  awaitDecisions: () => 'suspend',
  append(entries) {
    log.push(...entries)
    if (dies && nextAction(foldLog(log)) === 'start-step' && log.length > 2) throw new Error('the driver died')
  },
})

const first = await startLoop(agent, driver(true), 'What time is it in Ulm?')
await runLoop(first).catch((error: Error) => console.log(error.message))
// → calls the model with 1 messages
// → executes clock {"city":"Ulm"}
// → the driver died

console.log(nextAction(foldLog(log))) // → start-step
const second = resumeLoop(agent, driver(false), log)
while (!(await advance(second))) console.log(nextAction(second.state))
// → calls the model with 3 messages
// → finish

console.log(log.map((entry) => ('op' in entry ? `${entry.type} ${entry.op}` : entry.type)).join(', '))
// → run started, message, attempt, message, call decided, call started, call settled, attempt, message, run ended
