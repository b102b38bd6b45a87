import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

const turn = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string().nullish(),
  /** What a picture that was sent shows. */
  blip_caption: z.string().nullish(),
})
const question = z.object({
  question: z.string(),
  evidence: z.array(z.string()).nullish(),
  /** 1 several turns, 2 time, 3 what can be concluded, 4 one turn, 5 what was never said (`adversarial_answer`). */
  category: z.number().nullish(),
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
  /** Ids of the turns that answer it, or, of what was never said, those that seem to. */
  readonly evidence: readonly string[]
  readonly category?: number
}
export interface Conversation {
  readonly id: string
  readonly turns: readonly Turn[]
  /** Those with evidence in the conversation: of others it cannot be said whether it was found. */
  readonly questions: readonly Question[]
  /** How many others there are. */
  readonly unanswerable: number
}

/** What was read. */
export interface Conversations {
  readonly conversations: readonly Conversation[]
  /** JSON files of the folder that are no conversations. */
  readonly skipped: readonly string[]
}

/**
 * Reads conversations in the file format of LoCoMo: a JSON file with one or several, or a folder of such files.
 *
 * @throws Error that names the file and what is wrong with it.
 */
export function readConversations(path: string): Conversations {
  const folder = isFolder(path)
  const names = folder ? readdirSync(path).filter((name) => name.endsWith('.json')) : []
  const files = folder ? names.toSorted().map((name) => join(path, name)) : [path]
  const conversations: Conversation[] = []
  const skipped: string[] = []
  const from = new Map<string, string>()
  for (const file of files) {
    const json = readJson(file)
    if (folder && !isSample(Array.isArray(json) ? json[0] : json)) {
      skipped.push(file)
      continue
    }
    for (const conversation of conversationsIn(json, file)) {
      const { id } = conversation
      const other = from.get(id)
      if (other !== undefined) throw new Error(`The conversation ${id} is in ${other} and again in ${file}.`)
      from.set(id, file)
      conversations.push(conversation)
    }
  }
  if (conversations.length === 0) throw new Error(`There is no conversation in the format of LoCoMo in ${path}.`)
  return { conversations, skipped }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    throw new Error(`There is no file or folder ${path}.`)
  }
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`${file} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

function isSample(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'conversation' in json
}

/** @param name of the file: for what is wrong with it, and for conversations that have no name. */
export function conversationsIn(json: unknown, name: string): readonly Conversation[] {
  const samples = as(z.array(sample), Array.isArray(json) ? json : [json], name)
  return samples.map(({ sample_id, conversation, qa }, i) => {
    const id = sample_id ?? `${name}#${i}`
    const sessions = Object.keys(conversation)
      .flatMap((key) => /^session_(\d+)$/.exec(key)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => a - b)
    const turns = sessions.flatMap((n) =>
      as(z.array(turn), conversation[`session_${n}`], `${name}, ${id}, session_${n}`).map(
        ({ dia_id, speaker, text, blip_caption }): Turn => ({
          id: dia_id,
          session: `session_${n}`,
          speaker,
          text: blip_caption ? `${text ?? ''} (shows ${blip_caption})` : (text ?? ''),
        }),
      ),
    )
    const known = new Set(turns.map((one) => one.id))
    const questions = qa.flatMap(({ question: asked, evidence, category }): readonly Question[] => {
      const ids = [...new Set((evidence ?? []).flatMap(idsIn))].filter((one) => known.has(one))
      return ids.length > 0 ? [{ question: asked, evidence: ids, ...(category && { category }) }] : []
    })
    return { id, turns, questions, unanswerable: qa.length - questions.length }
  })
}

/** Some files name several turns in one text, or write `D:3:07` for `D3:7`. */
function idsIn(text: string): readonly string[] {
  return [...text.matchAll(/D:?(\d+):(\d+)/g)].map(([, session, at]) => `D${Number(session)}:${Number(at)}`)
}

function as<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  throw new Error(`${where} is not in the format of LoCoMo:\n${z.prettifyError(error)}`)
}
