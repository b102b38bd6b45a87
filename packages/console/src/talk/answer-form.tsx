import type { JsonSchema, PendingInput } from '@provost/core'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'

/** A question of a tool: a form of its schema. Answers without a simple schema are JSON. */
export function AnswerForm({
  question,
  onAnswer,
}: {
  readonly question: Question
  readonly onAnswer: (value: unknown) => Promise<void>
}): ReactNode {
  const [problem, setProblem] = useState<string | undefined>()
  const [isSending, setSending] = useState(false)
  const fields = fieldsOf(question.schema)
  const answer = (value: unknown): void => {
    setSending(true)
    setProblem(undefined)
    onAnswer(value).catch((error: unknown) => {
      setProblem(problemLine(error))
      setSending(false)
    })
  }
  return (
    <form
      className="question"
      onSubmit={(event) => {
        event.preventDefault()
        const given = new FormData(event.currentTarget)
        try {
          answer(fields ? valuesOf(fields, given) : parsed(given.get('json')))
        } catch {
          setProblem('This is not JSON.')
        }
      }}
    >
      <h3>
        <Words limit={100}>{question.toolName || question.agent}</Words> asks
      </h3>
      <p>
        <Words limit={4_000}>{question.message}</Words>
      </p>
      {question.approves ? (
        <div className="buttons">
          <button type="button" className="deny" disabled={isSending} onClick={() => answer({ decision: 'deny' })}>
            Deny
          </button>
          <button
            type="button"
            className="primary"
            disabled={isSending}
            onClick={() => answer({ decision: 'approve' })}
          >
            Approve
          </button>
        </div>
      ) : (
        <>
          {fields ? (
            fields.map((field) => <FieldInput key={field.name} field={field} />)
          ) : (
            <label>
              Answer as JSON
              <textarea name="json" rows={4} required spellCheck={false} />
            </label>
          )}
          <button type="submit" className="primary" disabled={isSending}>
            Answer
          </button>
        </>
      )}
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}

/** What the form needs of a question. */
type Question = Pick<PendingInput, 'toolName' | 'agent' | 'message' | 'schema' | 'approves'>

interface Field {
  readonly name: string
  readonly title: string
  readonly description: string | undefined
  readonly kind: 'text' | 'number' | 'boolean' | 'choice'
  readonly choices: readonly string[]
  readonly isRequired: boolean
  readonly isWhole: boolean
}

/** Returns the fields of an object of plain values; undefined for another schema. */
function fieldsOf(schema: JsonSchema | undefined): readonly Field[] | undefined {
  if (!schema || schema.type !== 'object' || !schema.properties) return undefined
  const fields = Object.entries(schema.properties).map(([name, property]): Field | undefined => {
    if (typeof property === 'boolean') return undefined
    const { type, title = name, description } = property
    const choices = (property.enum ?? []).filter((one) => typeof one === 'string')
    const kind =
      choices.length > 0 && choices.length === property.enum?.length
        ? 'choice'
        : type === 'string'
          ? 'text'
          : type === 'number' || type === 'integer'
            ? 'number'
            : type === 'boolean'
              ? 'boolean'
              : undefined
    const isRequired = schema.required?.includes(name) ?? false
    return kind && { name, title, description, kind, choices, isRequired, isWhole: type === 'integer' }
  })
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function FieldInput({ field }: { readonly field: Field }): ReactNode {
  const { name, title, description, kind, choices, isRequired, isWhole } = field
  const help = description === undefined ? null : <span className="dim">{description}</span>
  if (kind === 'boolean') {
    return (
      <label className="check">
        <input type="checkbox" name={name} /> <Words limit={200}>{title}</Words> {help}
      </label>
    )
  }
  return (
    <label>
      <Words limit={200}>{title}</Words> {help}
      {kind === 'choice' ? (
        <select name={name} required={isRequired}>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input name={name} required={isRequired} type={kind} step={isWhole ? 1 : 'any'} />
      )}
    </label>
  )
}

function valuesOf(fields: readonly Field[], given: FormData): unknown {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, isRequired }): readonly (readonly [string, unknown])[] => {
      const text = given.get(name)
      if (kind === 'boolean') return [[name, text !== null]]
      if ((text === null || text === '') && !isRequired) return []
      return [[name, kind === 'number' ? Number(text) : text]]
    }),
  )
}

function parsed(text: FormDataEntryValue | null): unknown {
  return JSON.parse(typeof text === 'string' ? text : '')
}
