import type { SchemaIssue } from '@provost/core'

const maxIssues = 20
const maxPathLength = 100
const maxMessageLength = 200
const maxLength = 900

/** Returns the problems of a value as one bounded text: each path with its problem. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  let text = ''
  let listed = 0
  for (const issue of issues.slice(0, maxIssues)) {
    const row = `${listed > 0 ? '; ' : ''}${issueText(issue)}`
    if (text.length + row.length > maxLength) break
    text += row
    listed++
  }
  return listed < issues.length ? `${text}; and ${issues.length - listed} more` : text
}

function issueText({ path, message }: SchemaIssue): string {
  const what = cut(message.replace(/\.$/, ''), maxMessageLength)
  return path === '' ? what : `${cut(path, maxPathLength)}: ${what}`
}

/** Returns at most `length` characters of a text. */
export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
