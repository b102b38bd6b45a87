import type { AnyNode } from 'acorn'

import type { RewriteContext } from './rewrite-context.ts'
import { fresh, leaves, lineOf, mark, mergesOf, refuse, returnedText, stepText, temp } from './rewrite-context.ts'
import { classRest } from './rewrite-expression.ts'
import { assignPattern, declarePattern } from './rewrite-pattern.ts'
import { isFunction } from './syntax-tree.ts'

type Of<T extends AnyNode['type']> = Extract<AnyNode, { type: T }>

/** Code behind a construct whose ways depend on a value: what it may have changed gets the label, then it ends. */
function ending(ctx: RewriteContext, node: AnyNode, parts: readonly AnyNode[], before: string): string {
  const merges = mergesOf(ctx, node, ctx.effects.of(...parts))
  const raise = merges.length > 0 ? `if ($$p !== ${before}) { ${merges.join('; ')} } ` : ''
  return `${raise}${leaves(node) ? '' : `$$p = ${before}; `}`
}

/** The test of a construct: it raises the label of the control flow. */
function test(ctx: RewriteContext, node: AnyNode, condition: AnyNode): string {
  const value = temp(ctx)
  return `(${value} = ${ctx.expression(condition)}, $$p = $$.br($$p, ${value}, ${lineOf(node)}), $$.y(${value}))`
}

function block(ctx: RewriteContext, nodes: readonly AnyNode[]): string {
  return `{ ${nodes.map((node) => ctx.statement(node)).join(' ')} }`
}

function nested(ctx: RewriteContext, node: AnyNode): string {
  return node.type === 'BlockStatement' ? block(ctx, node.body) : `{ ${ctx.statement(node)} }`
}

function ifStatement(ctx: RewriteContext, node: Of<'IfStatement'>): string {
  const before = fresh('q')
  const { consequent, alternate } = node
  const parts = alternate ? [consequent, alternate] : [consequent]
  const other = alternate ? ` else ${nested(ctx, alternate)}` : ''
  return `{ const ${before} = $$p; if (${test(ctx, node, node.test)}) ${nested(ctx, consequent)}${other} ${ending(ctx, node, parts, before)}}`
}

function loop(
  ctx: RewriteContext,
  node: AnyNode,
  label: string,
  head: (body: string) => string,
  body: AnyNode,
): string {
  const before = fresh('q')
  return `{ const ${before} = $$p; ${label}${head(nested(ctx, body))} ${ending(ctx, node, [node], before)}}`
}

function forStatement(ctx: RewriteContext, node: Of<'ForStatement'>, label: string): string {
  const { init, update } = node
  const start = !init ? '' : init.type === 'VariableDeclaration' ? declaration(ctx, init) : ctx.expression(init)
  const condition = node.test ? test(ctx, node, node.test) : ''
  const step = update ? ctx.expression(update) : ''
  return loop(ctx, node, label, (body) => `for (${start}; ${condition}; ${step}) ${body}`, node.body)
}

/** `for (… of …)` and `for (… in …)`: a loop over an iterator that tells the label of each round. */
function forEach(ctx: RewriteContext, node: Of<'ForOfStatement' | 'ForInStatement'>, label: string): string {
  const rounds = fresh('i')
  const going = temp(ctx)
  const waits = node.type === 'ForOfStatement' && node.await
  const source = ctx.expression(node.right)
  const iterator = waits ? '$$.waits' : node.type === 'ForOfStatement' ? '$$.iter' : '$$.names'
  const next = `${going} = ${waits ? 'await ' : ''}${rounds}.next($$p)`
  const value = `${rounds}.value`
  const { left } = node
  const taken =
    left.type === 'VariableDeclaration'
      ? left.declarations.map(({ id }) => `${left.kind} ${declarePattern(ctx, id, value).join(', ')};`).join(' ')
      : `${assignPattern(ctx, left, value).join(', ')};`
  const head = (body: string) =>
    `while ((${next}, $$p = $$.brl($$p, ${rounds}.label, ${lineOf(node)}), ${going})) { ${taken} ${body} }`
  const before = fresh('q')
  return `{ const ${before} = $$p; const ${rounds} = ${iterator}(${source}, $$p); ${label}${head(nested(ctx, node.body))} ${waits ? 'await ' : ''}${rounds}.end(); ${ending(ctx, node, [node], before)}}`
}

function switchStatement(ctx: RewriteContext, node: Of<'SwitchStatement'>, label: string): string {
  const before = fresh('q')
  const chosen = fresh('n')
  const tests = node.cases.map((one) => {
    if (!one.test) return '$$.none'
    if (ctx.effects.of(one.test).acts) return refuse(one.test, 'A call in a case')
    return ctx.expression(one.test)
  })
  const cases = node.cases.map(
    (one, index) =>
      `${one.test ? `case ${index}` : 'default'}: ${one.consequent.map((each) => ctx.statement(each)).join(' ')}`,
  )
  return `{ const ${before} = $$p; const ${chosen} = $$.sw(${ctx.expression(node.discriminant)}, [${tests.join(', ')}]); $$p = $$.br($$p, ${chosen}, ${lineOf(node)}); ${label}switch ($$.raw(${chosen})) { ${cases.join(' ')} } ${ending(ctx, node, node.cases, before)}}`
}

function tryStatement(ctx: RewriteContext, node: Of<'TryStatement'>): string {
  const before = fresh('q')
  const { handler, finalizer } = node
  const thrown = fresh('x')
  const param = handler?.param ? `let ${declarePattern(ctx, handler.param, thrown).join(', ')};` : ''
  const caught = handler
    ? ` catch (${thrown}) { $$p = $$.caught($$p, ${before}, ${thrown}); ${param} ${nested(ctx, handler.body)} }`
    : ''
  const last = finalizer ? ` finally ${nested(ctx, finalizer)}` : ''
  return `{ const ${before} = $$p; try ${nested(ctx, node.block)}${caught}${last} ${leaves(node) ? '' : `$$p = ${before}; `}}`
}

function declaration(ctx: RewriteContext, node: Of<'VariableDeclaration'>): string {
  const parts = node.declarations.flatMap(({ id, init }) => {
    if (!init) return id.type === 'Identifier' ? [id.name] : []
    return declarePattern(ctx, id, ctx.expression(init))
  })
  return `${node.kind} ${parts.join(', ')}`
}

/** The merges of a function that is left early, in front of its end. */
export function leaving(ctx: RewriteContext): string {
  const { node, leavesEarly } = ctx.frame
  if (!leavesEarly) return ''
  const merges = mergesOf(ctx, node, ctx.effects.of(node))
  return merges.length > 0 ? `if ($$p !== $$e) { ${merges.join('; ')} } ` : ''
}

function returnStatement(ctx: RewriteContext, node: Of<'ReturnStatement'>): string {
  const { leavesEarly, isConstructor } = ctx.frame
  const value = node.argument ? ctx.expression(node.argument) : 'void 0'
  if (ctx.frame.node.generator) {
    const result = fresh('r')
    return `{ const ${result} = ${value}; ${leaving(ctx)}return ${stepText(ctx.frame.node, result)}; }`
  }
  const returned = returnedText(ctx.frame.node, value)
  if (isConstructor || !leavesEarly) return `return ${returned};`
  const result = fresh('r')
  return `{ const ${result} = ${returned}; ${leaving(ctx)}return $$.j(${result}, $$p); }`
}

/** Writes a statement. Its tests raise the label of what they decide. */
export function statementText(ctx: RewriteContext, node: AnyNode, label: string = ''): string {
  return `${mark(node)}${plainStatement(ctx, node, label)}`
}

function plainStatement(ctx: RewriteContext, node: AnyNode, label: string): string {
  switch (node.type) {
    case 'ExpressionStatement':
      return `${ctx.expression(node.expression)};`
    case 'VariableDeclaration':
      return `${declaration(ctx, node)};`
    case 'FunctionDeclaration':
      return `${node.async ? 'async ' : ''}function${node.generator ? '*' : ''} ${node.id?.name ?? ''}${ctx.functionRest(node)}`
    case 'ClassDeclaration':
      return `class ${node.id?.name ?? ''}${classRest(ctx, node)}`
    case 'ReturnStatement':
      return returnStatement(ctx, node)
    case 'IfStatement':
      return ifStatement(ctx, node)
    case 'ForStatement':
      return forStatement(ctx, node, label)
    case 'ForOfStatement':
    case 'ForInStatement':
      return forEach(ctx, node, label)
    case 'WhileStatement':
      return loop(ctx, node, label, (body) => `while (${test(ctx, node, node.test)}) ${body}`, node.body)
    case 'DoWhileStatement':
      return loop(ctx, node, label, (body) => `do ${body} while (${test(ctx, node, node.test)});`, node.body)
    case 'SwitchStatement':
      return switchStatement(ctx, node, label)
    case 'TryStatement':
      return tryStatement(ctx, node)
    case 'ThrowStatement':
      return `throw $$.th(${ctx.expression(node.argument)}, $$p);`
    case 'BlockStatement':
      return `${label}${block(ctx, node.body)}`
    case 'LabeledStatement':
      return ctx.statement(node.body, `${label}${node.label.name}: `)
    case 'BreakStatement':
      return `break${node.label ? ` ${node.label.name}` : ''};`
    case 'ContinueStatement':
      return `continue${node.label ? ` ${node.label.name}` : ''};`
    case 'EmptyStatement':
    case 'DebuggerStatement':
      return ';'
    default:
      return isFunction(node) ? refuse(node, 'This function') : refuse(node, node.type)
  }
}
