// A tool that streams: what it yields is seen while it works, what it returns is the result; progress is for people only.
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const countWords = tool({
  name: 'count_words',
  description: 'Counts the words of each text.',
  effect: 'none',
  input: z.object({ texts: z.array(z.string()) }),
  async *execute({ texts }, ctx) {
    const counts: number[] = []
    for (const text of texts) {
      await sleep(5, undefined, { signal: ctx.signal })
      counts.push(text.split(' ').length)
      ctx.progress({ done: counts.length, of: texts.length })
      yield `${text}: ${counts.at(-1)}`
    }
    return counts
  },
})

const texts = ['The quick brown fox', 'Lorem ipsum dolor']
const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { text: 'Let me count.', toolCalls: [{ name: 'count_words', input: { texts } }] },
    { text: ['Four ', 'and ', 'three.'] },
  ])

const counter = createAgent({ name: 'counter', model, tools: [countWords] })
for await (const event of counter.stream(`How many words has each of these? ${JSON.stringify(texts)}`)) {
  switch (event.type) {
    case 'text.delta':
      console.log('text    ', JSON.stringify(event.delta))
      break
    case 'tool.execute.progress':
      console.log('progress', JSON.stringify(event.data))
      break
    case 'tool.execute.partial':
      console.log('partial ', JSON.stringify(event.delta))
      break
    case 'tool.execute.end':
      console.log('result  ', JSON.stringify(event.output))
  }
}
// → text     "Let me count."
// → progress {"done":1,"of":2}
// → partial  "The quick brown fox: 4"
// → progress {"done":2,"of":2}
// → partial  "Lorem ipsum dolor: 3"
// → result   {"type":"json","value":[4,3]}
// → text     "Four "
// → text     "and "
// → text     "three."
