import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

const turn = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string().default(''),
  blip_caption: z.string().optional(),
})
const question = z.object({
  question: z.string(),
  evidence: z.array(z.string()).default([]),
  category: z.number().optional(),
})
const sample = z.object({
  sample_id: z.string().optional(),
  conversation: z.record(z.string(), z.unknown()),
  qa: z.array(question).default([]),
})

/** Something said in a conversation. */
export interface Turn {
  /** As questions name it: `D3:14`. */
  readonly id: string
  readonly session: string
  readonly speaker: string
  readonly text: string
}
export interface Question {
  readonly question: string
  /** Ids of the turns that answer it. */
  readonly evidence: readonly string[]
}
export interface Conversation {
  readonly id: string
  readonly turns: readonly Turn[]
  readonly questions: readonly Question[]
}

/** Reads conversations in the file format of LoCoMo: a JSON file with one or several, or a folder of such files. */
export function readConversations(path: string): readonly Conversation[] {
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => name.endsWith('.json'))
        .toSorted()
        .map((name) => join(path, name))
    : [path]
  return files.flatMap((file) => conversationsIn(JSON.parse(readFileSync(file, 'utf8')), file))
}

/** @param name of the conversations that have none. */
export function conversationsIn(json: unknown, name: string): readonly Conversation[] {
  const samples = z.array(sample).parse(Array.isArray(json) ? json : [json])
  return samples.map(({ sample_id, conversation, qa }, i) => {
    const sessions = Object.keys(conversation)
      .flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => a - b)
    const turns = sessions.flatMap((n) =>
      z
        .array(turn)
        .parse(conversation[`session_${n}`])
        .map(({ dia_id, speaker, text, blip_caption }) => ({
          id: dia_id,
          session: `session_${n}`,
          speaker,
          text: blip_caption === undefined ? text : `${text} (shows ${blip_caption})`,
        })),
    )
    const known = new Set(turns.map(({ id }) => id))
    const questions = qa.flatMap(({ question: asked, evidence }) => {
      // Some files name several turns in one string.
      const ids = evidence.flatMap((text) => text.match(/D\d+:\d+/g) ?? []).filter((id) => known.has(id))
      return ids.length > 0 ? [{ question: asked, evidence: [...new Set(ids)] }] : []
    })
    return { id: sample_id ?? `${name}#${i}`, turns, questions }
  })
}
