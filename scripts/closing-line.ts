import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

import type { Reporter, TestCase, TestModule } from 'vitest/node'

const namedAtMost = 50

/** What came of the tests of one run, or of several. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  /** The tests that were skipped, by name. */
  readonly skipped: readonly string[]
}

/** Where the counts of a run under turbo go, in the folder of the package: turbo keeps the file and restores it. */
export const countsFile = 'reports/tests.json'

/**
 * Ends the output of a test run with the names of the tests that were skipped and, alone on the very last line,
 * `N passed, N failed` (`, N skipped` where there are any). A test file or suite that cannot run counts as failed, and
 * so does an error that no test caught. Under turbo this is one run of several: it leaves its counts in a file.
 */
export function closingLine(): Reporter {
  let counts: Counts | undefined
  return {
    onInit() {
      process.on('exit', () => counts && close(counts))
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()])
      counts = {
        passed: count(tests, 'passed'),
        failed: count(tests, 'failed') + modules.reduce((sum, module) => sum + broken(module), unhandledErrors.length),
        skipped: tests.filter((test) => !['passed', 'failed'].includes(test.result().state)).map(named),
      }
    },
  }
}

/** The last lines of a run: what was skipped, and how many. */
export function closing({ passed, failed, skipped }: Counts): string {
  const more = skipped.length - namedAtMost
  const names = [...skipped.slice(0, namedAtMost), ...(more > 0 ? [`and ${more} more`] : [])]
  const list = names.length > 0 ? ['Skipped:', ...names.map((name) => `  ${name}`), ''] : []
  const line = `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`
  return [...list, line, ''].join('\n')
}

function close(counts: Counts): void {
  if (process.env['TURBO_HASH'] === undefined) return void process.stdout.write(closing(counts))
  mkdirSync(dirname(countsFile), { recursive: true })
  writeFileSync(countsFile, JSON.stringify(counts))
}

function count(tests: readonly TestCase[], state: 'passed' | 'failed'): number {
  return tests.filter((test) => test.result().state === state).length
}

/** How many parts of the file (itself, its suites) failed outside a test. */
function broken(module: TestModule): number {
  const suites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0)
  return suites.length + (module.errors().length > 0 ? 1 : 0)
}

/** Where a test is, project and file, what it is called and why it was skipped. */
function named(test: TestCase): string {
  const { module, project } = test
  const result = test.result()
  const why = result.state === 'skipped' && result.note ? ` (${result.note})` : ''
  return `${[project.name, module.relativeModuleId].filter(Boolean).join('/')}: ${test.fullName}${why}`
}
