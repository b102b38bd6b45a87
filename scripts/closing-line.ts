import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

import type { Reporter, TestCase, TestModule } from 'vitest/node'

const namedAtMost = 50

/** Where the closing lines go in a run under turbo, which has more to say itself; it keeps and restores the file. */
export const closingFile = 'reports/tests.txt'

/**
 * Ends the output of a test run with the names of the tests that were skipped and, alone on the very last line,
 * `N passed, N failed` (`, N skipped` where there are any). A test file or suite that cannot run counts as failed, and
 * so does an error that no test caught.
 */
export function closingLine(): Reporter {
  let lines: readonly string[] = []
  return {
    onInit() {
      process.on('exit', () => close(lines.map((line) => `${line}\n`).join('')))
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()])
      const skipped = tests.filter((test) => !['passed', 'failed'].includes(test.result().state))
      const passed = count(tests, 'passed')
      const failed =
        count(tests, 'failed') + modules.reduce((sum, module) => sum + broken(module), unhandledErrors.length)
      const closing = `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`
      lines = [...named(skipped), closing]
    },
  }
}

function close(text: string): void {
  if (process.env['TURBO_HASH'] === undefined) return void process.stdout.write(text)
  mkdirSync(dirname(closingFile), { recursive: true })
  writeFileSync(closingFile, text)
}

function count(tests: readonly TestCase[], state: 'passed' | 'failed'): number {
  return tests.filter((test) => test.result().state === state).length
}

/** How many parts of the file (itself, its suites) failed outside a test. */
function broken(module: TestModule): number {
  const suites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0)
  return suites.length + (module.errors().length > 0 ? 1 : 0)
}

/** Where a test is: project and file. */
function place({ module, project }: TestCase): string {
  return [project.name, module.relativeModuleId].filter(Boolean).join('/')
}

function named(skipped: readonly TestCase[]): readonly string[] {
  if (skipped.length === 0) return []
  const lines = skipped.slice(0, namedAtMost).map((test) => {
    const result = test.result()
    const why = result.state === 'skipped' && result.note ? ` (${result.note})` : ''
    return `  ${place(test)}: ${test.fullName}${why}`
  })
  const more = skipped.length - lines.length
  return ['Skipped:', ...lines, ...(more > 0 ? [`  and ${more} more`] : []), '']
}
