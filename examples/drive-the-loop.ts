// The loop by hand. It asks what it wants decided and done, and knows nothing but the log; here we answer for model and tools.
// The first driver dies on the way. The second one goes on from the log, and the tool does not run twice.
import { createAgent, drive, foldLog, loop, nextAction, startEntries, tool, trustedLabel, z } from 'provost'
import type { Entry, LoopHandlers } from 'provost'

const clock = tool({
  name: 'clock',
  effect: 'none',
  input: z.object({ city: z.string() }),
  execute: () => 'not called here',
})
const agent = createAgent({ name: 'watch', model: 'example/unused', tools: [clock] })

const log: Entry[] = [...startEntries(agent, 'What time is it in Ulm?')]
const call = {
  type: 'tool-call',
  callId: 'call-1',
  toolCallId: 'call-1',
  toolName: 'clock',
  input: { city: 'Ulm' },
} as const

function handlers(dies: boolean): LoopHandlers {
  return {
    model({ request }) {
      console.log(`asks the model, showing it ${request.messages.length} messages`)
      const asked = request.messages.length === 1
      const content = asked ? [call] : [{ type: 'text', text: 'Noon.' } as const]
      const id = `answer-${request.messages.length}`
      return {
        message: { id, role: 'assistant', content, label: trustedLabel, createdAt: Date.now() },
        usage: {},
        finishReason: asked ? 'tool-calls' : 'stop',
      }
    },
    decide: ({ calls }) => calls.map(({ input }) => ({ proceed: input })),
    execute: ({ calls }) =>
      calls.map((one) => {
        console.log(`executes ${one.tool.name} ${JSON.stringify(one.input)}`)
        return { ...one, outcome: 'ok', via: 'executed', output: { type: 'text', value: '12:00' }, label: trustedLabel }
      }),
    wait: () => 'suspend',
    append({ entries }) {
      for (const entry of entries) log.push({ ...entry, offset: log.length + 1 })
      if (dies && nextAction(foldLog(log)) === 'context') throw new Error('the driver died')
      return { offset: log.length }
    },
  }
}

await drive(loop(agent, log), handlers(true)).catch((error: Error) => console.log(error.message))
// → asks the model, showing it 1 messages
// → executes clock {"city":"Ulm"}
// → the driver died

console.log(nextAction(foldLog(log))) // → context
console.log(await drive(loop(agent, log), handlers(false)))
// → asks the model, showing it 3 messages
// → completed

console.log(log.map((entry) => ('op' in entry ? `${entry.type} ${entry.op}` : entry.type)).join(', '))
// → run started, message, attempt, message, call decided, call started, call settled, attempt, message, run ended
