"""Our node and client beside peers that behave as stock Petals does."""

from helpers.stock_trials import REACHED, beside_real_peers, tried_again


def test_stock_peers_learn_whether_they_can_be_reached_and_none_is_given_up_while_it_computes() -> None:
    peers = beside_real_peers()
    assert peers.reached == REACHED
    assert peers.calls == {"direct": 2, "relayed": 2}


def test_a_server_that_refuses_in_words_is_not_asked_again_for_the_same() -> None:
    assert tried_again() == []
