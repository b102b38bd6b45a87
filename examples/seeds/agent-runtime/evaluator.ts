// A generator tries until an evaluator accepts: a function, a schema, or a judge that gives points. The tries are capped.
import assert from 'node:assert/strict'

import type { Evaluator } from 'provost'
import { createAgent, evaluatorOptimizer, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const inputs: string[] = []
function writer(...texts: string[]) {
  const steps = texts.map((text) => ({ messages }: { messages: unknown }) => {
    inputs.push(JSON.stringify(messages))
    return { text }
  })
  return createAgent({ name: 'writer', model: scriptedModel(steps, { after: 'repeat-last' }) })
}
const tries = (evaluator: Evaluator<string>, ...texts: string[]) =>
  evaluatorOptimizer({ generator: writer(...texts), input: 'A haiku, please.', evaluator, maxIterations: 3 })

const lines: Evaluator<string> = {
  kind: 'free-form',
  evaluate: (text) => ({ accepted: text.split('\n').length === 3, feedback: 'It has three lines.' }),
}
const haiku = await tries(lines, 'Rain.', 'Rain\non the\nsea.')
assert.deepEqual([haiku.accepted, haiku.iterations.length, haiku.output], [true, 2, 'Rain\non the\nsea.'])
// The next try is told what to improve.
assert.match(inputs[1] ?? '', /It has three lines/)

const json = await tries(
  { kind: 'schema', schema: z.object({ lines: z.array(z.string()) }) },
  'Rain.',
  '{"lines":["Rain."]}',
)
assert.deepEqual([json.accepted, json.iterations.length], [true, 2])

const score = (points: number) => ({ text: JSON.stringify({ score: points, feedback: 'More sea.' }) })
const judge = scriptedModel([score(0.2), score(0.6), score(0.4)])
const never = await tries({ kind: 'llm-judge', judge, criteria: 'The sea.', threshold: 0.9 }, 'Rain.', 'A sea.', 'Fog.')
// At the cap the best so far is the result, and says that it was not accepted.
assert.deepEqual([never.accepted, never.iterations.length, never.output], [false, 3, 'A sea.'])
console.log(haiku.iterations.length, json.iterations.length, never.iterations.length, 'tries') // → 2 2 3 tries
