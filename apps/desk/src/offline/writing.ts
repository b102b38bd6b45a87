import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { z } from 'provost'

import { textIn } from './facts.ts'
import { say, type Step } from './plan.ts'

const briefSchema = z.object({ name: z.string(), points: z.array(z.string()) })
const draftSchema = z.object({ key: z.string(), answer: z.string() })
const correctionSchema = briefSchema.extend({ letter: z.string() })

/** A draft: the points between a greeting and a closing. */
export function writeStep(prompt: LanguageModelV4Prompt, manner: 'warm' | 'plain'): Step {
  const { data: brief } = briefSchema.safeParse(linesOf(prompt)[0])
  if (!brief) return say('I need a brief: a name, and the points to make.')
  const { name, points } = brief
  const warm = manner === 'warm'
  const greeting = name === '' ? 'Hello,' : warm ? `Dear ${name},` : `Hello ${name},`
  return say([greeting, ...points, ...(warm ? ['Kind regards'] : [])].join('\n\n'))
}

/** One letter from all drafts: the frame of the longest, with the points that all of them make. */
export function editStep(prompt: LanguageModelV4Prompt): Step {
  const drafts = linesOf(prompt).flatMap((line) => {
    const { data } = draftSchema.safeParse(line)
    return data ? [data.answer.split('\n\n')] : []
  })
  const [longest] = drafts.toSorted((a, b) => b.length - a.length)
  if (!longest) return say('I need drafts to make a letter of.')
  const kept = longest.filter(
    (paragraph, at) => at === 0 || at === longest.length - 1 || drafts.every((draft) => draft.includes(paragraph)),
  )
  return say(kept.join('\n\n'))
}

/** The letter, with the proofreader's corrections. */
export function correctStep(prompt: LanguageModelV4Prompt): Step {
  const text = textOf(prompt)
  const { data } = correctionSchema.safeParse(linesOf(prompt)[0])
  if (!data) return say('I need a letter with its brief.')
  const { letter, points } = data
  const [, wanted = ''] = /^Do better: (.*)$/m.exec(text) ?? []
  const [, name] = /Sign as ([^.]+)\./.exec(wanted) ?? []
  const missing = wanted.startsWith('Say ') ? points.filter((point) => !letter.includes(point)) : []
  const [farewell = '', ...before] = letter.split('\n\n').toReversed()
  const whole = [...before.toReversed(), ...missing, farewell].join('\n\n')
  return say(name === undefined ? whole : `${whole}\n${name}`)
}

function textOf(prompt: LanguageModelV4Prompt): string {
  return prompt.map(textIn).join('\n')
}

/** Lines that are JSON. */
function linesOf(prompt: LanguageModelV4Prompt): readonly unknown[] {
  return textOf(prompt)
    .split('\n')
    .flatMap((line): readonly unknown[] => {
      if (!line.startsWith('{')) return []
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}
